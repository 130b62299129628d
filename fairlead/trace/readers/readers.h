// Every trace format's entry, one line each. The definitions are in the readers' own files.
#pragma once

#include "fairlead/trace/format.h"

namespace fairlead {

extern const TraceFormat kAcmeFormat;
extern const TraceFormat kDlrmFormat;
extern const TraceFormat kGavelFormat;
extern const TraceFormat kHeliosFormat;
extern const TraceFormat kNativeFormat;
extern const TraceFormat kNormalizedFormat;
extern const TraceFormat kOpenbFormat;
extern const TraceFormat kPaiFormat;
extern const TraceFormat kPhillyFormat;
extern const TraceFormat kSacctFormat;
extern const TraceFormat kSpotFormat;
extern const TraceFormat kSwfFormat;
extern const TraceFormat kTableFormat;
extern const TraceFormat kTiresiasFormat;

}  // namespace fairlead
