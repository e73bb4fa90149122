/** The event pattern of the rule that starts the export of a trace. It matches `runStatusChange` of `lib/codec/bus-events.ts`. */
export const endedRuns = {
  source: 'stepwell.runs',
  detailType: 'Run Status Change',
  statuses: ['completed', 'failed', 'cancelled'],
} as const;
