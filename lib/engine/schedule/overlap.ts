/** What a schedule does when it fires while a run that it started is open. */
export const overlapPolicies = ['skip', 'allow', 'cancel_previous'] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];
