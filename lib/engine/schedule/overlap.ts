/** What a fire does while a run that its schedule started is open. */
export const overlapPolicies = ['skip', 'allow', 'cancel_previous'] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];
