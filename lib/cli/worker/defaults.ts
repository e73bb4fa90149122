export const defaultConcurrency = 10;
/** Three signs of life fit in, and a run of a dead worker does not wait for long. */
export const defaultVisibilityTimeoutSeconds = 30;
/** Whoever ends a container waits 30 s before it is killed. */
export const defaultDrainSeconds = 25;
