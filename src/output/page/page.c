// SPDX-License-Identifier: BSD-3-Clause
// Writes pages: page.html with its scripts, a JSON header, and the block, deflated, as base64.
#include <math.h>
#include <stdio.h>

#include "core/error.h"
#include "core/file.h"
#include "core/options.h"
#include "core/platform.h"
#include "output/page/page.h"

#include <zlib.h>

enum { NAME_SIZE = 256 };

sap_page_options sap_page_options_default(void) {
  return (sap_page_options){.cookie = SAP_COOKIE, .frame_rate = 60.0, .max_contacts = 1000 * 1000};
}

bool sap_page_available(void) {
  return sap_page_is_whole;
}

static sap_status print_header(FILE* out, sap_page_data* data, sap_error* error) {
  const char* title = data->options->title;
  char name[NAME_SIZE] = "";
  (void)sap_recording_attribute(data->recording, "model", "name", name, sizeof name, NULL);
  (void)fputs("{\"title\":", out);
  sap_json_put(out, title != NULL ? title : name[0] != '\0' ? name : "sapstep");
  if (data->contacts < data->contacts_all) {
    (void)fprintf(out, ",\n\"note\":\"The %lld strongest of %lld contacts are shown.\"",
                  (long long)data->contacts, (long long)data->contacts_all);
  }
  (void)fprintf(out, ",\n\"frames\":%d,\"lengthUnit\":%.9g,\"turnUnit\":%.9g,\n\"bodies\":[",
                data->frames, data->length_unit, data->turn_unit);
  for (int32_t b = 0; b < data->bodies; ++b) {
    SAP_TRY(sap_recording_text(data->recording, "model/bodies", b, name, sizeof name, error));
    (void)fputs(b > 0 ? "," : "", out);
    sap_json_put(out, name);
  }
  (void)fputs("],\n\"sections\":{", out);
  for (int32_t i = 0; i < data->block.count; ++i) {
    (void)fprintf(out, "%s\"%s\":[%d,%d]", i > 0 ? "," : "", data->block.sections[i].name,
                  data->block.sections[i].offset, data->block.sections[i].size);
  }
  (void)fputs("}}", out);
  return SAP_STATUS_OK;
}

static void print_base64(FILE* out, const unsigned char* bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    const size_t left = count - i;
    const unsigned a = bytes[i], b = left > 1 ? bytes[i + 1] : 0, c = left > 2 ? bytes[i + 2] : 0;
    const char four[4] = {digits[a >> 2], digits[(a & 3) << 4 | b >> 4],
                          left > 1 ? digits[(b & 15) << 2 | c >> 6] : '=',
                          left > 2 ? digits[c & 63] : '='};
    (void)fwrite(four, 1, 4, out);
  }
}

static sap_status print_block(FILE* out, const sap_page_block* block, sap_error* error) {
  uLongf size = compressBound((uLong)block->size);
  unsigned char* packed = sap_allocate((size_t)size, 1);
  if (packed == NULL || compress2(packed, &size, block->bytes, (uLong)block->size, 6) != Z_OK) {
    sap_free(packed);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: page");
  }
  print_base64(out, packed, (size_t)size);
  sap_free(packed);
  return SAP_STATUS_OK;
}

static sap_status print_page(FILE* out, sap_page_data* data, sap_error* error) {
  (void)fwrite(sap_page_head, 1, sap_page_head_size, out);
  SAP_TRY(print_header(out, data, error));
  (void)fwrite(sap_page_middle, 1, sap_page_middle_size, out);
  SAP_TRY(print_block(out, &data->block, error));
  (void)fwrite(sap_page_tail, 1, sap_page_tail_size, out);
  return SAP_STATUS_OK;
}

static sap_status write_page(sap_file* file, sap_page_data* data, sap_page_summary* summary,
                             sap_error* error) {
  FILE* out = sap_file_stream(file);
  sap_c_locale locale;
  SAP_TRY(sap_c_locale_begin(&locale, error));
  const sap_status status = print_page(out, data, error);
  sap_c_locale_end(&locale);
  SAP_TRY(status);
  if (summary != NULL) {
    *summary = (sap_page_summary){.frames = data->frames,
                                  .bytes = ftell(out),
                                  .contacts = data->contacts,
                                  .contacts_all = data->contacts_all};
  }
  return sap_file_commit(file, error);
}

static sap_status check_arguments(const sap_recording* recording, const char* path,
                                  const sap_page_options* options, sap_error* error) {
  SAP_NOT_NULL(error, recording, path);
  SAP_TRY(sap_check_cookie("sap_page_options", &options->cookie, error));
  SAP_FAIL_IF(!(options->frame_rate >= 0.0) || !isfinite(options->frame_rate), error,
              SAP_STATUS_ARGUMENT, "frame_rate = %g must be finite and >= 0", options->frame_rate);
  SAP_FAIL_IF(options->max_contacts < 0, error, SAP_STATUS_ARGUMENT,
              "max_contacts = %d must be >= 0", (int)options->max_contacts);
  return sap_page_available()
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_UNSUPPORTED,
                        "this build has no three.js: install libjs-three, or configure with "
                        "-DSAPSTEP_THREE=npm, and build again to have 3D pages");
}

static sap_status fill_data(sap_page_data* data, sap_error* error) {
  sap_status (*const parts[])(sap_page_data*, sap_error*) = {
      sap_page_pick_frames, sap_page_add_poses, sap_page_add_model, sap_page_add_contacts,
      sap_page_add_series};
  sap_status status = SAP_STATUS_OK;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && status == SAP_STATUS_OK; ++i) {
    status = parts[i](data, error);
    sap_pool_free(&data->scratch);
  }
  return status;
}

sap_status sap_page_write(const sap_recording* recording, const char* path,
                          const sap_page_options* options, sap_page_summary* summary,
                          sap_error* error) {
  const sap_page_options defaults = sap_page_options_default();
  options = options != NULL ? options : &defaults;
  SAP_TRY(check_arguments(recording, path, options, error));
  sap_page_data data = {.recording = recording,
                        .options = options,
                        .pool = {.owner = "page"},
                        .scratch = {.owner = "page"}};
  sap_file* file = NULL;
  sap_status status = fill_data(&data, error);
  SAP_THEN(status, sap_file_create(path, &file, error));
  SAP_THEN(status, write_page(file, &data, summary, error));
  sap_file_close(file);
  sap_pool_free(&data.scratch);
  sap_pool_free(&data.pool);
  sap_free(data.block.bytes);
  return status;
}
