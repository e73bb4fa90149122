/**
 * Branded identifiers. Each has one constructor that checks a plain string or number; all other code trusts the type.
 */
import { invariant } from './invariant.ts';

declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

export type ProjectId = Brand<string, 'ProjectId'>;
export type Environment = Brand<string, 'Environment'>;
export type RunId = Brand<string, 'RunId'>;
export type NodeId = Brand<string, 'NodeId'>;
/** The loop iteration that a node belongs to; `''` outside loops. Part of every identity. */
export type IterationKey = Brand<string, 'IterationKey'>;
/** `nodeId` and iteration in one string: the key of a node within a run. */
export type NodeKey = Brand<string, 'NodeKey'>;
export type WorkflowName = Brand<string, 'WorkflowName'>;
/** The name of a workflow of the Workflow DevKit. */
export type DevKitName = Brand<string, 'DevKitName'>;
/** Of a stored query. */
export type QueryName = Brand<string, 'QueryName'>;
export type LensName = Brand<string, 'LensName'>;
export type DeploymentId = Brand<string, 'DeploymentId'>;
/** A project of code: its deployments replace each other. */
export type AppName = Brand<string, 'AppName'>;
export type KeyId = Brand<string, 'KeyId'>;
/** Identifies a signal; two sends with the same id are one signal. */
export type SignalId = Brand<string, 'SignalId'>;
/** A schedule, by the name that its author chose. */
export type ScheduleId = Brand<string, 'ScheduleId'>;
/** A signed-in person's session. It is no secret: audit entries name it. */
export type SessionId = Brand<string, 'SessionId'>;
export type EmbedId = Brand<string, 'EmbedId'>;
/** An open WebSocket connection, as API Gateway names it. */
export type ConnectionId = Brand<string, 'ConnectionId'>;
/** Identifies the writer of a commit: one per attempt at a commit number, unchanged over retries of the put. */
export type Nonce = Brand<string, 'Nonce'>;
/** Commit numbers of a run are 1, 2, 3 … without a gap. */
export type CommitNo = Brand<number, 'CommitNo'>;
/** Event ids of a run are 1, 2, 3 … without a gap. */
export type EventId = Brand<number, 'EventId'>;
/** Follows a request through all its effects. */
export type CorrelationId = Brand<string, 'CorrelationId'>;
/** 1 for the first attempt. */
export type Attempt = Brand<number, 'Attempt'>;

export const projectIdPattern = /^[A-Za-z0-9_-]{1,64}$/;
export const environmentPattern = /^[a-z0-9-]{1,32}$/;
/** A ULID with a prefix: sortable by creation time. */
export const runIdPattern = /^wrun_[0-9A-HJKMNP-TV-Z]{26}$/;
/** `#` and `@` separate parts of keys, so ids cannot contain them. */
export const nodeIdPattern = /^[A-Za-z0-9_.:-]{1,128}$/;
export const workflowNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
/** As the Workflow DevKit names a workflow: `workflow//./workflows/order//processOrder`. */
export const devKitNamePattern = /^workflow\/\/[\x21-\x7e]{1,500}$/;
export const anyWorkflowNamePattern = new RegExp(`${workflowNamePattern.source}|${devKitNamePattern.source}`);
export const queryNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
export const lensNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
export const deploymentIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
/** Every name of an npm package fits, with or without its scope: npm allows 214 characters in all. */
export const appNamePattern = /^(?:@[A-Za-z0-9~_-][A-Za-z0-9._~-]{0,211}\/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]{0,213}$/;
export const keyIdPattern = /^[0-9A-Za-z]{8,32}$/;
export const signalIdPattern = /^[A-Za-z0-9_.:-]{1,128}$/;
export const embedIdPattern = /^emb_[A-Za-z0-9_-]{22}$/;
const sessionIdPattern = /^ses_[A-Za-z0-9_-]{22}$/;
/** Base64 with padding, as API Gateway creates it. */
const connectionIdPattern = /^[A-Za-z0-9+/=_-]{1,128}$/;
/** `outer[2]/inner[0]`; empty outside loops. */
export const iterationKeyPattern = /^([A-Za-z0-9_.:-]+\[\d+\]\/?)*$/;
export const scheduleIdPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** in characters */
export const maxCorrelationIdLength = 128;
/** Printable ASCII that fits a header, without a space at either end. */
export const correlationIdPattern = new RegExp(`^[\\x21-\\x7e](?:[\\x20-\\x7e]{0,${maxCorrelationIdLength - 2}}[\\x21-\\x7e])?$`);

/** Makes the constructor of a branded string. It throws; callers that parse requests test the pattern first. */
const patternId =
  <Id extends string>(name: string, pattern: RegExp) =>
  (text: string): Id => {
    invariant(pattern.test(text), () => `${name} must match ${pattern.source}, and is ${JSON.stringify(text)}`);
    return text as Id;
  };

const numberId =
  <Id extends number>(name: string) =>
  (value: number): Id => {
    invariant(Number.isSafeInteger(value) && value >= 1, () => `${name} must be a whole number from 1 up, and is ${value}`);
    return value as Id;
  };

export const projectId = patternId<ProjectId>('a project id', projectIdPattern);
export const environment = patternId<Environment>('an environment', environmentPattern);
export const runId = patternId<RunId>('a run id', runIdPattern);
export const nodeId = patternId<NodeId>('a node id', nodeIdPattern);
export const iterationKey = patternId<IterationKey>('an iteration key', iterationKeyPattern);
export const workflowName = patternId<WorkflowName>('a workflow name', workflowNamePattern);
export const devKitName = patternId<DevKitName>('a name of a DevKit workflow', devKitNamePattern);
export const isDevKitName = (name: WorkflowName | DevKitName): name is DevKitName => devKitNamePattern.test(name);
export const queryName = patternId<QueryName>('a name of a query', queryNamePattern);
export const lensName = patternId<LensName>('a lens name', lensNamePattern);
export const deploymentId = patternId<DeploymentId>('a deployment id', deploymentIdPattern);
export const appName = patternId<AppName>('a name of an app', appNamePattern);
export const keyId = patternId<KeyId>('a key id', keyIdPattern);
export const scheduleId = patternId<ScheduleId>('a schedule id', scheduleIdPattern);
export const embedId = patternId<EmbedId>('an embed id', embedIdPattern);
export const sessionId = patternId<SessionId>('a session id', sessionIdPattern);
export const connectionId = patternId<ConnectionId>('a connection id', connectionIdPattern);
export const signalId = patternId<SignalId>('a signal id', signalIdPattern);
export const correlationId = patternId<CorrelationId>('a correlation id', correlationIdPattern);
export const nonce = patternId<Nonce>('a nonce', /^[0-9A-Za-z_-]{1,64}$/);
export const commitNo = numberId<CommitNo>('a commit number');
export const eventId = numberId<EventId>('an event id');
export const attempt = numberId<Attempt>('an attempt');

export const topLevel = iterationKey('');

/** The key of an iteration inside the loop's own iteration: `outer[2]/inner[0]`. */
export const iterationKeyOf = (loop: NodeRef, index: number): IterationKey =>
  iterationKey(`${loop.iteration === topLevel ? '' : `${loop.iteration}/`}${loop.nodeId}[${index}]`);

/** The iteration, its enclosing iterations from the inside out, and the top level. */
export function enclosingIterations(iteration: IterationKey): readonly IterationKey[] {
  const found: IterationKey[] = [];
  for (let key: string = iteration; key !== topLevel; key = key.slice(0, Math.max(0, key.lastIndexOf('/'))))
    found.push(iterationKey(key));
  return [...found, topLevel];
}

export const firstCommit = commitNo(1);
export const secondCommit = commitNo(2);
export const firstAttempt = attempt(1);

/** The owner of a record: each belongs to one project and environment. */
export interface Scope {
  readonly projectId: ProjectId;
  readonly environment: Environment;
}

/** A run's full name: runs are only looked up within their scope. */
export interface RunAddress extends Scope {
  readonly runId: RunId;
}

/** A node of a run in one loop iteration. */
export interface NodeRef {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
}

export const nodeKey = (ref: NodeRef): NodeKey =>
  (ref.iteration === '' ? ref.nodeId : `${ref.nodeId}@${ref.iteration}`) as NodeKey;

/** The key by which a signal and a wait are matched: name and correlation, within one project and environment. */
export interface SignalKey extends Scope {
  readonly name: string;
  /** the business key of the signal, such as an order number or a run id */
  readonly correlation: string;
}

/** Maximum length of a name and of a correlation, in characters. */
export const maxSignalTextLength = 256;
