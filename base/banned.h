/* SPDX-License-Identifier: MIT */
/* Functions that are not used in this project; a use does not compile. */
#ifndef TD_BASE_BANNED_H
#define TD_BASE_BANNED_H

#undef alloca
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atof
#pragma GCC poison localtime gmtime ctime asctime system alloca gets

#endif
