/** Names of metrics that the functions write and that alarms or the dashboard read. */
export const metricNamespace = 'Stepwell';
/** The dimension that identifies the installation in an account. Its value is the name of the runs table. */
export const installationDimension = 'RunsTable';
export const slowedMessages = { metric: 'MessagesSlowed', dimension: installationDimension } as const;
/** Counted for the whole installation too, with no other dimension than the status. */
export const runsStarted = 'RunsStarted';
export const runsEnded = { metric: 'RunsEnded', dimension: 'Status', statuses: ['completed', 'failed', 'cancelled'] } as const;
