/**
 * The kinds of records in the two tables. The first word of each partition key is the kind, and no more: roles are granted kinds, by a
 * condition on the beginning of the key (`dynamodb:LeadingKeys`), and no name that a user chose can make one kind look like another.
 */
export const recordKinds = {
  runs: {
    run: 'the head of any run; of the run of a graph, all that it wrote',
    code: 'what the run of code wrote: its log, its beats, its snapshot, what lists show of it',
    due: 'when the sweep is to look at a run',
    'due-code': 'the same, as the function noted it that runs the code',
    crashes: 'workers that died in an attempt',
    'crashes-code': 'the same, as the function noted it that runs the code',
    openworkflow: 'runs that workers of another library poll for',
  },
  control: {
    key: 'an API key',
    keys: "which keys are a project's",
    ticket: 'a ticket to watch a run',
    rate: "a key's requests in a minute",
    setting: 'versions of a large setting of the installation',
    'reader-lease': 'which stream of a named reader of a run goes on',
    streams: 'which streams of events are open, as leases',
    socket: 'an open socket, and the runs that it has joined',
    watch: 'who watches a run over sockets, and who speaks for it next',
    sweep: 'the last minute that the sweep has passed',
    workflows: "summaries of a project's workflows",
    workflow: 'versions of a workflow',
    lenses: "summaries of a project's lenses",
    lens: 'versions of a lens',
    queries: "summaries of a project's queries",
    query: 'versions of a query',
    deployments: 'deployments, and the pointer to the active one',
    pin: 'which runs hold on to a deployment',
    deletions: 'how far the deletions of workflows have come',
    deletion: 'the runs that one of them has found',
    schedules: "a project's schedules and what became of their last times",
    'schedule-sync': 'settings of schedules to be held, and marks of what may be wrong',
    signal: 'signals and the waits for them',
    idempotency: "a start's reservation",
    audit: 'the audit trail of a day',
    slots: "who of a workflow's runs is at work, and who waits",
  },
} as const;

export type TableName = keyof typeof recordKinds;
export type RunsKind = keyof (typeof recordKinds)['runs'];
export type ControlKind = keyof (typeof recordKinds)['control'];

/** The partition of a kind's records that these words name. */
export const partitionOf = (kind: RunsKind | ControlKind, ...parts: readonly (string | number)[]): string =>
  `${kind}#${parts.join('#')}`;

/** What a condition on leading keys compares: every partition of the kind, and no other. */
export const partitionPattern = (kind: RunsKind | ControlKind): string => `${kind}#*`;
