/* plugin.h - backends in shared objects of their own.
 *
 * libcleave-NAME.so exports one symbol, `clv_plugin`, a clv_backend_type. It is
 * looked for beside the program or the library, in the folder above, and where
 * libraries are installed. */
#ifndef CLV_PLUGIN_H
#define CLV_PLUGIN_H

#include "backend/backend.h"

#define CLV_PLUGIN_SYMBOL "clv_plugin"

/* A row that stands for the plugin `onednn` until it is opened. */
extern const clv_backend_type clv__onednn_type;

#endif
