/** Names of metrics that the functions write and an alarm looks at. */
export const metricNamespace = 'Stepwell';
/** Its dimension tells one installation from another in the same account: the name of the table of runs. */
export const slowedMessages = { metric: 'MessagesSlowed', dimension: 'RunsTable' } as const;
