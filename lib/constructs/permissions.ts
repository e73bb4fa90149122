/** The permissions of the functions. Each one has the IAM statements and the environment variables that it needs. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import { type EnvironmentName, runsTableKeys } from '../contract/environment.ts';
import { acknowledgeWildcard, allow } from './statements.ts';
import { type RecordGrants, recordStatements } from './record-grants.ts';
import type { ProductResources } from './resources.ts';
import { readSecrets, settingPermissions } from './setting-permissions.ts';
import { artifactPrefix, payloadPrefix } from './storage.ts';
import type { Construct } from 'constructs';

export interface Permission {
  readonly environment: readonly EnvironmentName[];
  readonly records?: RecordGrants;
  readonly statements?: (resources: ProductResources) => readonly iam.PolicyStatement[];
}

/** The IAM statements of the permissions. */
export const statementsOf = (
  permissionNames: readonly PermissionName[],
  resources: ProductResources,
): readonly iam.PolicyStatement[] => {
  const granted: readonly Permission[] = permissionNames.map((permission) => permissions[permission]);
  const otherStatements = granted.flatMap(({ statements }) => statements?.(resources) ?? []);
  return [
    ...recordStatements(
      granted.map(({ records }) => records),
      resources.storage,
    ),
    ...otherStatements,
  ];
};

const payloadsArn = (resources: ProductResources): string => `${resources.bucketArn}/${payloadPrefix}*`;

/** Project and environment names cannot contain `~`, so this prefix is unambiguous. */
const codePayloadsArn = (resources: ProductResources): string => `${resources.bucketArn}/${payloadPrefix}*/~code/*`;

/** The same for runs of the Workflow DevKit. */
const devKitPayloadsArn = (resources: ProductResources): string => `${resources.bucketArn}/${payloadPrefix}*/~devkit/*`;

const artifactsArn = (resources: ProductResources): string => `${resources.bucketArn}/${artifactPrefix}*`;

const timerEnvironment = ['delayQueueArn', 'scheduleGroup', 'scheduleRoleArn'] as const;

/** Of the functions that delete runs: of stopped test runs and of deleted workflows. */
const deletionPermissions = {
  /**
   * The records, due entries and payloads of a run. IAM cannot tell from a key whether a run may be deleted, so the two functions with
   * this permission check that the run is a stopped test run or belongs to a workflow in deletion.
   */
  'delete runs': {
    environment: ['runsTable', 'bucket'],
    records: { runs: { run: 'd', code: 'd', devkit: 'd', due: 'd' } },
    statements: (resources) => [
      allow(['s3:DeleteObject'], [`${resources.bucketArn}/${payloadPrefix}*`]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** Releases the idempotency key of a stopped test run. */
  'release idempotency keys of tests': { environment: ['controlTable'], records: { control: { idempotency: 'd' } } },
  /** Deletes workflows: lists the project's runs, records progress and found runs, deletes versions and names, writes the audit entry. */
  'continue deletions': {
    environment: ['runsTable', 'controlTable'],
    records: {
      runs: { run: 'b', code: 'b', devkit: 'b' },
      control: { deletions: 'gqpud', deletion: 'gqpud', workflow: 'qd', workflows: 'u', audit: 'p' },
    },
    statements: ({ storage }) => [
      allow(['dynamodb:Query'], [`${storage.runsTable.tableArn}/index/${runsTableKeys.byProject.name}`]),
    ],
  },
} as const satisfies Record<string, Permission>;

/** Of the WebSocket functions only. */
const socketPermissions = {
  'send watches': {
    environment: ['watchQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.watches.queueArn])],
  },
  /** Open connections and their memberships. */
  'manage sockets': { environment: ['controlTable'], records: { control: { socket: 'qpud', watch: 'qpud' } } },
  /** After a dead letter of a watched run: requests another broadcaster if the run still has watchers. */
  'replace broadcasters': { environment: ['controlTable'], records: { control: { watch: 'qd' } } },
  /** Checks that a key is still valid. */
  'recheck keys': { environment: ['controlTable'], records: { control: { key: 'g' } } },
  /** Posts to the stage's connections and closes them. */
  'post to sockets': {
    environment: ['socketsUrl'],
    statements: ({ sockets }) =>
      sockets === undefined ? [] : [allow(['execute-api:ManageConnections'], sockets.connectionArns)],
  },
} as const satisfies Record<string, Permission>;

export const permissions = {
  /** Heads and logs of all runs: of graphs and of code. */
  'read runs': { environment: ['runsTable'], records: { runs: { run: 'gq', code: 'gq', devkit: 'gq' } } },
  /**
   * The logs of external-worker runs, and their listings among the runs of a project. The functions read only the namespace of the
   * caller's project and environment.
   */
  'read external-worker runs': { environment: ['runsTable'], records: { runs: { openworkflow: 'q' } } },
  'list external-worker runs': { environment: ['runsTable'], records: { runs: { openworkflow: 'b' } } },
  /** No delete: records of a run expire, or are deleted with a stopped test run or a deleted workflow. */
  'write runs': {
    environment: ['runsTable'],
    records: { runs: { run: 'pu', code: 'pu', devkit: 'pu', due: 'p', crashes: 'pq' } },
  },
  /** Writes of the code function: neither heads nor records of graph runs. */
  'write runs of code': {
    environment: ['runsTable'],
    records: { runs: { code: 'gqpu', 'due-code': 'p', 'crashes-code': 'pq' } },
  },
  /** Logs, streams, tokens and names of DevKit runs. Their heads are on the platform's side. */
  'write runs of the DevKit': {
    environment: ['runsTable'],
    records: { runs: { devkit: 'gbqpu', 'devkit-name': 'gqpud' } },
  },
  /** Which run has the hook of a token. */
  'find hooks by token': { environment: ['runsTable'], records: { runs: { 'devkit-name': 'g' } } },
  /** Streams without a run, in which the code of apps answers health checks. */
  'read health checks': { environment: ['runsTable'], records: { runs: { 'devkit-name': 'q' } } },
  /** Heads of DevKit runs, and when the sweep checks them. */
  'create runs of the DevKit': { environment: ['runsTable'], records: { runs: { run: 'p', due: 'p' } } },
  /** Messages to bundle runs are events of their logs. */
  'write bundle runs': { environment: ['runsTable'], records: { runs: { code: 'pu', due: 'p' } } },
  'list runs': {
    environment: ['runsTable'],
    records: { runs: { run: 'b', code: 'b', devkit: 'b' } },
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query'],
        [runsTableKeys.byProject, runsTableKeys.byState].map((index) => `${storage.runsTable.tableArn}/index/${index.name}`),
      ),
    ],
  },
  /** The sweep reads due entries. Every function that advances a run writes them. */
  'find due runs': { environment: ['runsTable'], records: { runs: { due: 'q', 'due-code': 'q' } } },
  /** Reads a key and records its use, counts its requests and writes the audit trail. */
  'authenticate keys': {
    environment: ['controlTable'],
    records: { control: { key: 'gn', rate: 'u', audit: 'p' } },
  },
  /** Reads the session of a person and records its use. */
  'accept sessions': { environment: ['controlTable'], records: { control: { session: 'gn' } } },
  /** Reads the workflow version or deployment of a run and of the child runs that it starts. */
  'read run definitions': {
    environment: ['controlTable'],
    records: { control: { workflows: 'g', workflow: 'g', deployments: 'g' } },
  },
  /** A start records its idempotency key and releases it if the request failed before it created anything. */
  'record idempotency keys': { environment: ['controlTable'], records: { control: { idempotency: 'gpd' } } },
  'publish workflows': {
    environment: ['controlTable'],
    records: { control: { workflows: 'gqu', workflow: 'gqp' } },
  },
  /** A deletion is an update: the revision stays. */
  'edit drafts': { environment: ['controlTable'], records: { control: { draft: 'gu' } } },
  /** Records a workflow deletion, after a search for schedules that start its runs. */
  'request deletions': {
    environment: ['controlTable'],
    records: { control: { deletions: 'gpud', schedules: 'q' } },
  },
  'issue tickets': { environment: ['controlTable'], records: { control: { ticket: 'p' } } },
  'redeem tickets': { environment: ['controlTable'], records: { control: { ticket: 'gu' } } },
  /** Leases: the active stream of a named reader, and the slots of open event streams. */
  'manage reader leases': {
    environment: ['controlTable', 'watchers'],
    records: { control: { 'reader-lease': 'gp', streams: 'qpd' } },
  },
  'manage deployments': {
    environment: ['controlTable'],
    records: { control: { deployments: 'gqpud', pin: 'qd', workflows: 'g' } },
  },
  /** Before an activation removes workflows: the open runs and the schedules that use them. */
  'find uses of workflows': {
    environment: ['runsTable', 'controlTable'],
    records: { runs: { run: 'b', code: 'b', devkit: 'b' }, control: { schedules: 'q' } },
  },
  'manage lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'gqu', lens: 'gqp', queries: 'gqu', query: 'gqp' } },
  },
  'read lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'g', lens: 'g', queries: 'g', query: 'g' } },
  },
  'manage schedule records': {
    environment: ['controlTable'],
    records: { control: { schedules: 'gqpud', 'schedule-sync': 'pd' } },
  },
  /** API keys and their listings. */
  'manage keys': { environment: ['controlTable'], records: { control: { key: 'gpu', keys: 'qp' } } },
  /** Links that sign a person in, and the sessions that they start. */
  'sign people in': { environment: ['controlTable'], records: { control: { 'session-link': 'gpu', session: 'gpud' } } },
  /** Tokens of embeds, and their list. */
  'manage embeds': { environment: ['controlTable'], records: { control: { embed: 'gpd', embeds: 'gqpd' } } },
  'read the audit trail': { environment: ['controlTable'], records: { control: { audit: 'q' } } },
  /** The last minute that the sweep has completed. */
  'record sweep progress': { environment: ['controlTable'], records: { control: { sweep: 'gu' } } },
  /** Signals and registered waits, which every function that advances runs matches. */
  'match signals': { environment: ['controlTable'], records: { control: { signal: 'gqpud' } } },
  /** The runs of a workflow that hold or await a concurrency slot. */
  'manage concurrency slots': { environment: ['controlTable'], records: { control: { slots: 'qpd' } } },
  'read payloads': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject'], [payloadsArn(resources)]),
      // Without it, S3 returns 403 instead of 404 for a missing object.
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  'write payloads': {
    environment: ['bucket'],
    // A tag of the object selects its lifecycle rule.
    statements: (resources) => [allow(['s3:PutObject', 's3:PutObjectTagging'], [payloadsArn(resources)])],
  },
  /** Payloads of code runs only: `blobPrefixOf` in `lib/service/run-log/payloads.ts` defines the prefix. */
  'store payloads of code': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], [codePayloadsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  'store payloads of the DevKit': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], [devKitPayloadsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** A presigned upload delegates this permission for one object and one digest, for 15 minutes. */
  'store artifacts': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:PutObject', 's3:GetObject', 's3:DeleteObject'], [artifactsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** The refusal of a start names the inactive deployment that has the workflow. */
  'list deployments': { environment: ['controlTable'], records: { control: { deployments: 'q' } } },
  /** Deployment records only. */
  'read deployments': { environment: ['controlTable'], records: { control: { deployments: 'g' } } },
  /** A run that ends unpins its deployment. */
  'unpin deployments': { environment: ['controlTable'], records: { control: { pin: 'd' } } },
  /** Addresses of applications that execute DevKit runs, with the secrets that sign deliveries to them. */
  'register applications': { environment: ['controlTable'], records: { control: { 'devkit-app': 'gp' } } },
  'find registered applications': { environment: ['controlTable'], records: { control: { 'devkit-app': 'g' } } },
  /** A run of deployed code pins its deployment before it starts. */
  'pin deployments': { environment: ['controlTable'], records: { control: { pin: 'p' } } },
  'read artifacts': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject'], [artifactsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  'send node jobs': {
    environment: ['nodeQueueUrl', 'nodeConcurrency', 'maxProjectShare'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.nodeJobs.queueArn])],
  },
  'send delayed jobs': {
    environment: ['delayQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.delayed.queueArn])],
  },
  'send code messages': {
    environment: ['codeQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.code.queueArn])],
  },
  /** For worker processes, which receive and delete messages themselves. For a function, its event source mapping does. */
  'take code messages': {
    environment: ['codeQueueUrl'],
    statements: ({ queues }) => [
      allow(
        ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
        [queues.code.queueArn],
      ),
    ],
  },
  'send results': {
    environment: ['resultsQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.results.queueArn])],
  },
  ...socketPermissions,
  ...deletionPermissions,
  ...settingPermissions,
  'set timers': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      // No delete: a one-time schedule deletes itself, and one that fires without need changes nothing.
      allow(['scheduler:CreateSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  /** Creates and deletes the EventBridge schedules of workflows. */
  'manage schedules': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  /** Records that the sweep reads to synchronize schedules. */
  'sync schedules': { environment: ['controlTable'], records: { control: { schedules: 'g', 'schedule-sync': 'qpd' } } },
  /** Records each fire on its schedule. */
  'record schedule fires': { environment: ['controlTable'], records: { control: { schedules: 'gu' } } },
  /** Marks an EventBridge schedule whose schedule record was deleted. */
  'mark schedules for sync': { environment: ['controlTable'], records: { control: { 'schedule-sync': 'p' } } },
  'store the first key': {
    environment: [],
    statements: ({ firstKeySecretArn }) => [
      allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], [firstKeySecretArn]),
    ],
  },
  'read secrets of seed keys': { environment: [], statements: ({ seedSecretArns }) => readSecrets(seedSecretArns) },
  /** Audit entries for refused and accepted webhooks. */
  'record audit entries': { environment: ['controlTable'], records: { control: { audit: 'p' } } },
  'publish events': {
    environment: ['eventBusName', 'runEvents'],
    statements: ({ eventBus }) => [allow(['events:PutEvents'], [eventBus.eventBusArn])],
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;

/** Acknowledges the wildcard resources of a role, with reasons: their names are created at run time. */
export function acknowledgeDynamicResources(
  role: Construct,
  permissionNames: readonly PermissionName[],
  resources: ProductResources,
): void {
  if ((['read payloads', 'write payloads', 'delete runs'] as const).some((permission) => permissionNames.includes(permission))) {
    acknowledgeWildcard(
      role,
      payloadsArn(resources),
      'Payload objects are named by run and digest; the prefix contains nothing else.',
    );
  }
  if (permissionNames.includes('store payloads of code')) {
    acknowledgeWildcard(
      role,
      codePayloadsArn(resources),
      'Payload objects of code are named by project, run and digest; no other object has ~code in its name.',
    );
  }
  if (permissionNames.includes('store payloads of the DevKit')) {
    acknowledgeWildcard(
      role,
      devKitPayloadsArn(resources),
      'Payload objects of DevKit runs are named by project, run and digest; no other object has ~devkit in its name.',
    );
  }
  if (permissionNames.includes('store artifacts') || permissionNames.includes('read artifacts')) {
    acknowledgeWildcard(
      role,
      artifactsArn(resources),
      'Artifacts are named by project, deployment and digest; the prefix contains nothing else.',
    );
  }
  if (permissionNames.includes('post to sockets')) {
    for (const arn of resources.sockets?.connectionArns ?? []) {
      acknowledgeWildcard(role, arn, 'The gateway generates connection ids; the stage contains no other connections.');
    }
  }
  if (permissionNames.includes('set timers') || permissionNames.includes('manage schedules')) {
    acknowledgeWildcard(role, resources.timers.schedulesArn, 'Schedules are named by run; the group contains nothing else.');
  }
}
