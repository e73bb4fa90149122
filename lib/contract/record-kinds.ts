/**
 * The kinds of records in the two tables. The kind is the first word of each partition key. Roles are granted kinds by a
 * condition on the leading key (`dynamodb:LeadingKeys`); no user-chosen name can imitate another kind.
 */
export const recordKinds = {
  runs: {
    run: 'heads of all runs; all other items of graph runs',
    code: 'items of code runs: log, heartbeats, snapshot, projection',
    devkit: 'items of runs of the Workflow DevKit: log, heartbeats, snapshot, projection, streams',
    'devkit-name': 'which run has a hook, a token or a stream of that name',
    due: 'due entries: when the sweep checks a run',
    'due-code': 'due entries that the code function wrote',
    crashes: 'worker crashes during an attempt',
    'crashes-code': 'worker crashes that the code function recorded',
    openworkflow: 'external-worker runs',
  },
  control: {
    key: 'an API key',
    keys: "pointers to a project's API keys",
    ticket: 'a ticket to watch a run',
    'session-link': 'a link that signs a person in, once',
    session: 'the session of a signed-in person',
    embed: 'a token that shows the status of a run or workflow in other pages',
    embeds: "a project's embeds",
    rate: 'request counts of an API key, by minute',
    setting: 'versions of a large setting of the installation',
    'reader-lease': 'the stream that holds the lease of a named reader',
    streams: 'slots of open event streams, as leases',
    socket: 'a WebSocket connection and the runs that it watches',
    watch: 'watchers of a run, and its next broadcaster',
    sweep: 'the last minute that the sweep completed',
    workflows: "summaries of a project's workflows",
    workflow: 'versions of a workflow',
    draft: 'the draft of a workflow',
    lenses: "summaries of a project's lenses",
    lens: 'versions of a lens',
    queries: "summaries of a project's queries",
    query: 'versions of a query',
    deployments: 'deployments, and the pointer to the active one',
    pin: 'the runs that pin a deployment',
    'devkit-app': 'applications that receive messages of the Workflow DevKit at an address of their own',
    deletions: 'progress of workflow deletions',
    deletion: 'the runs that a workflow deletion covers',
    schedules: "a project's schedules and their recent fires",
    'schedule-sync': 'registered settings of schedules, and sync marks',
    signal: 'signals and their waiters',
    idempotency: 'reservations of idempotency keys',
    audit: 'the audit trail of a day',
    slots: 'concurrency slots of a workflow, and waiting runs',
  },
} as const;

export type TableName = keyof typeof recordKinds;
export type RunsKind = keyof (typeof recordKinds)['runs'];
export type ControlKind = keyof (typeof recordKinds)['control'];

/** A partition key: the kind and its parts. */
export const partitionOf = (kind: RunsKind | ControlKind, ...parts: readonly (string | number)[]): string =>
  `${kind}#${parts.join('#')}`;

/** The pattern of a leading-keys condition that matches the partitions of one kind only. */
export const partitionPattern = (kind: RunsKind | ControlKind): string => `${kind}#*`;
