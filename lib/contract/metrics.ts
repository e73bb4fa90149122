/** Names of metrics that the functions write, and that an alarm or the dashboard looks at. */
export const metricNamespace = 'Stepwell';
/** Tells one installation from another in the same account: the name of the table of runs. */
export const installationDimension = 'RunsTable';
export const slowedMessages = { metric: 'MessagesSlowed', dimension: installationDimension } as const;
/** Counted for the whole installation, too. Beside the installation they have no dimension but the status. */
export const runsStarted = 'RunsStarted';
export const runsEnded = { metric: 'RunsEnded', dimension: 'Status', statuses: ['completed', 'failed', 'cancelled'] } as const;
