/** The event that begins the export of a trace, as the rule of the template matches it: its words are those of `lib/codec/bus-events.ts`. */
export const endedRuns = {
  source: 'stepwell.runs',
  detailType: 'Run Status Change',
  statuses: ['completed', 'failed', 'cancelled'],
} as const;
