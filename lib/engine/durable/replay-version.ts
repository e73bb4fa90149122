/**
 * Version of the replay rules. A run records this number in its first commit and is always replayed by the same rules. A change of the
 * order in which code sees results, of step keys, or of what the code receives needs the next number. The older rules stay as long as
 * runs of them exist. test/histories contains recorded histories of each version.
 */
export const replayVersion = 1;

/** System key of the version in a run's first commit. */
export const replayVersionKey = '__replayVersion';
