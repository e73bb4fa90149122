/**
 * How the author's code is replayed. A run is replayed as it began: it notes this number in its first commit. Whatever changes
 * the order in which code sees results, the keys it asks under, or what it is told, gets the next number, and the way before it
 * stays for as long as runs of it live. Histories of each number lie in test/histories.
 */
export const replayVersion = 1;

/** Under which a run's first commit says it. */
export const replayVersionKey = '__replayVersion';
