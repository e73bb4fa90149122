/**
 * Requests of the console to the API of its own installation. The session's cookie authenticates them. The types come from the route
 * table; no schema is loaded, because the server has checked what it sends.
 */
import type { ResponseBody, RequestBody, Run, RunEvent, RunSummary } from '../client/route-types.ts';
import { defined } from '../base/defined.ts';

export type { Run, RunEvent, RunSummary };
export type RunNode = Run['nodes'][number];
export type RunNodeDetail = ResponseBody<'getRunNode'>;
export type TimelinePage = ResponseBody<'getRunTimeline'>;
export type WorkflowDetail = ResponseBody<'getWorkflow'>;
export type RunPage = ResponseBody<'listRuns'>;
export type EventPage = ResponseBody<'listRunEvents'>;
export type WorkflowPage = ResponseBody<'listWorkflows'>;
export type WorkflowSummary = WorkflowPage['data'][number];
export type PublishBody = RequestBody<'publishVersion'>;
export type VersionPage = ResponseBody<'listVersions'>;
export type Draft = ResponseBody<'getDraft'>;
export type Published = ResponseBody<'publishVersion'>;
export type StartBody = RequestBody<'startRun'>;
export type SchedulePage = ResponseBody<'listSchedules'>;
export type ScheduleSummary = SchedulePage['data'][number];
export type Schedule = ResponseBody<'getSchedule'>;
export type NewSchedule = RequestBody<'createSchedule'>;
export type ScheduleChange = RequestBody<'updateSchedule'>;
export type DeploymentPage = ResponseBody<'listDeployments'>;
export type DeploymentSummary = DeploymentPage['data'][number];
export type LensPage = ResponseBody<'listLenses'>;
export type Lens = ResponseBody<'getLens'>;
export type QueryPage = ResponseBody<'listQueries'>;
export type StoredQuery = ResponseBody<'getQuery'>;
export type TestBody = RequestBody<'testWorkflow'>;
export type Sent = ResponseBody<'sendSignal'>;
export type SignalBody = RequestBody<'sendSignal'>;
export type CreateKeyBody = RequestBody<'createKey'>;
export type KeyScope = CreateKeyBody['scopes'][number];
export type CreatedKey = ResponseBody<'createKey'>;
export type KeyPage = ResponseBody<'listKeys'>;
export type KeySummary = KeyPage['data'][number];
export type Installation = ResponseBody<'getInstallation'>;
export type Catalogue = ResponseBody<'getCatalogue'>;
export type EmbedSummary = ResponseBody<'listEmbeds'>['data'][number];
export type CreatedEmbed = ResponseBody<'createEmbed'>;
export type AuditPage = ResponseBody<'listAudit'>;
export type AuditEntry = AuditPage['data'][number];

export type Session = ResponseBody<'getSession'>;

/** What the server has instead of what a change was based on. */
export interface CurrentState {
  readonly revision?: number;
  readonly version?: number;
  /** who changed it, and when */
  readonly by?: string;
  readonly at?: string;
}

/** One error of a request. `pointer` is a JSON pointer into the body. */
export interface ErrorDetail {
  readonly pointer: string;
  readonly message: string;
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly required?: string;
  readonly errors?: readonly ErrorDetail[];
  readonly recovery?: string;
  readonly correlationId?: string;
  readonly current?: CurrentState;
}

/** An error response of the API, or a connection that failed (`status` 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly recovery: string | undefined;
  readonly correlationId: string | undefined;
  /** the scope that the session lacks */
  readonly required: string | undefined;
  /** each error of the body */
  readonly errors: readonly ErrorDetail[];
  /** of a conflict: what the server has now */
  readonly current: CurrentState;

  constructor(status: number, body: ErrorBody) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.recovery = body.recovery;
    this.correlationId = body.correlationId;
    this.required = body.required;
    this.errors = body.errors ?? [];
    this.current = body.current ?? {};
  }

  /** The same error with some of its errors only: the others are shown elsewhere. */
  withErrors(errors: readonly ErrorDetail[]): ApiError {
    const { status, code, message, current } = this;
    const { required, recovery, correlationId } = this;
    return new ApiError(status, { code, message, errors, current, ...defined({ required, recovery, correlationId }) });
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Query;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const field = (body: unknown, name: string): string | undefined =>
  typeof body === 'object' && body !== null ? text(Reflect.get(body, name)) : undefined;

const errorsIn = (body: unknown): readonly ErrorDetail[] => {
  const errors: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'errors') : undefined;
  return Array.isArray(errors)
    ? errors.map((each: unknown) => ({ pointer: field(each, 'pointer') ?? '', message: field(each, 'message') ?? '' }))
    : [];
};

const currentIn = (body: unknown): CurrentState => {
  const current: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'current') : undefined;
  if (typeof current !== 'object' || current === null) return {};
  const count = (name: string): number | undefined => {
    const value: unknown = Reflect.get(current, name);
    return typeof value === 'number' ? value : undefined;
  };
  return defined({ revision: count('revision'), version: count('version'), by: field(current, 'by'), at: field(current, 'at') });
};

const signedOutListeners = new Set<() => void>();
/** Calls the listener when the service refuses a request for want of a session. @returns ends that */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => void signedOutListeners.delete(listener);
}

/** Paths are relative to the root of the stage, which the page's `<base>` names. */
async function call(path: string, { method = 'GET', query = {}, body, idempotencyKey, signal }: Call = {}): Promise<unknown> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const headers = defined({
    'Content-Type': body === undefined ? undefined : 'application/json',
    'Idempotency-Key': idempotencyKey,
  });
  const unreachable = (error: unknown): never => {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, {
      code: 'unreachable',
      message: 'The service did not respond.',
      recovery: 'Check the connection. The page tries again by itself.',
    });
  };
  const response = await fetch(`v1/${path}${search.size === 0 ? '' : `?${search.toString()}`}`, {
    method,
    headers,
    ...defined({ body: body === undefined ? undefined : JSON.stringify(body), signal }),
  }).catch(unreachable);
  if (response.status === 204) return undefined;
  // A request can be aborted, and a connection can break, between the status and the end of the body.
  if (response.ok) return await response.json().catch(unreachable);
  const received: unknown = await response.json().catch(() => undefined);
  if (response.status === 401 && !path.startsWith('session')) for (const listener of signedOutListeners) listener();
  throw new ApiError(response.status, {
    code: field(received, 'code') ?? `http_${response.status}`,
    message: field(received, 'message') ?? `The service responded with status ${response.status}.`,
    errors: errorsIn(received),
    current: currentIn(received),
    ...defined({
      required: field(received, 'required'),
      recovery: field(received, 'recovery'),
      correlationId: field(received, 'correlationId'),
    }),
  });
}

/** The one place that gives a response its type: the route table defines both sides. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's schemas have checked the response
const ask = async <Result>(path: string, options?: Call): Promise<Result> => (await call(path, options)) as Result;

const segment = encodeURIComponent;

export const api = {
  session: (signal: AbortSignal): Promise<Session> => ask('session', { signal }),
  signInByLink: (link: string): Promise<Session> => ask('sessions/exchange', { method: 'POST', body: { link } }),
  signInByKey: (key: string): Promise<Session> => ask('sessions', { method: 'POST', body: { key } }),
  signInProvider: (signal: AbortSignal): Promise<ResponseBody<'getSignInProvider'>> => ask('sessions/provider', { signal }),
  signInWithProvider: (body: RequestBody<'signInWithProvider'>): Promise<Session> =>
    ask('sessions/provider', { method: 'POST', body }),
  raiseSession: (body: RequestBody<'raiseSession'>): Promise<Session> => ask('session/admin', { method: 'POST', body }),
  lowerSession: (): Promise<Session> => ask('session/admin', { method: 'DELETE' }),
  keys: (query: Query, signal: AbortSignal): Promise<KeyPage> => ask('keys', { query, signal }),
  createKey: (body: CreateKeyBody): Promise<CreatedKey> => ask('keys', { method: 'POST', body }),
  revokeKey: (keyId: string): Promise<unknown> => ask(`keys/${segment(keyId)}`, { method: 'DELETE' }),
  audit: (query: Query, signal: AbortSignal): Promise<AuditPage> => ask('audit', { query, signal }),
  installation: (signal: AbortSignal): Promise<Installation> => ask('installation', { signal }),
  catalogue: (signal: AbortSignal): Promise<Catalogue> => ask('catalogue', { signal }),
  embeds: (signal: AbortSignal): Promise<ResponseBody<'listEmbeds'>> => ask('embeds', { signal }),
  createEmbed: (body: RequestBody<'createEmbed'>): Promise<CreatedEmbed> => ask('embeds', { method: 'POST', body }),
  revokeEmbed: (id: string): Promise<unknown> => ask(`embeds/${segment(id)}`, { method: 'DELETE' }),
  signOut: (): Promise<void> => ask('session', { method: 'DELETE' }),
  runs: (query: Query, signal: AbortSignal): Promise<RunPage> => ask('runs', { query, signal }),
  run: (runId: string, query: Query, signal: AbortSignal): Promise<Run> => ask(`runs/${segment(runId)}`, { query, signal }),
  /** the graph that a run executes; a run of code has none */
  runDefinition: (runId: string, signal: AbortSignal): Promise<ResponseBody<'getRunDefinition'>> =>
    ask(`runs/${segment(runId)}/definition`, { signal }),
  runNode: (runId: string, nodeId: string, query: Query, signal: AbortSignal): Promise<RunNodeDetail> =>
    ask(`runs/${segment(runId)}/nodes/${segment(nodeId)}`, { query, signal }),
  timeline: (runId: string, query: Query, signal: AbortSignal): Promise<TimelinePage> =>
    ask(`runs/${segment(runId)}/timeline`, { query, signal }),
  events: (runId: string, query: Query, signal: AbortSignal): Promise<EventPage> =>
    ask(`runs/${segment(runId)}/events`, { query, signal }),
  workflows: (query: Query, signal: AbortSignal): Promise<WorkflowPage> => ask('workflows', { query, signal }),
  /** @param version undefined: the latest one */
  workflow: (name: string, version: number | undefined, signal: AbortSignal): Promise<WorkflowDetail> =>
    ask(`workflows/${segment(name)}`, { query: { version }, signal }),
  validate: (body: unknown, signal: AbortSignal): Promise<ResponseBody<'validateWorkflow'>> =>
    ask('workflows/validate', { method: 'POST', body, signal }),
  versions: (name: string, query: Query, signal: AbortSignal): Promise<VersionPage> =>
    ask(`workflows/${segment(name)}/versions`, { query, signal }),
  createWorkflow: (body: RequestBody<'createWorkflow'>): Promise<Published> => ask('workflows', { method: 'POST', body }),
  publish: (name: string, body: PublishBody): Promise<Published> =>
    ask(`workflows/${segment(name)}/versions`, { method: 'POST', body }),
  draft: (name: string, signal: AbortSignal): Promise<Draft> => ask(`workflows/${segment(name)}/draft`, { signal }),
  saveDraft: (name: string, body: RequestBody<'saveDraft'>): Promise<Draft> =>
    ask(`workflows/${segment(name)}/draft`, { method: 'POST', body }),
  deleteDraft: (name: string): Promise<unknown> => ask(`workflows/${segment(name)}/draft`, { method: 'DELETE' }),
  /** @param body an unfinished definition is not typed */
  test: (body: unknown): Promise<{ readonly runId: string }> => ask('workflows/test', { method: 'POST', body }),
  stopTest: (runId: string): Promise<unknown> => ask(`runs/${segment(runId)}/stop`, { method: 'POST' }),
  startRun: (body: StartBody, idempotencyKey: string): Promise<{ readonly runId: string }> =>
    ask('runs', { method: 'POST', body, idempotencyKey }),
  cancel: (runId: string, reason: string): Promise<unknown> =>
    ask(`runs/${segment(runId)}/cancel`, { method: 'POST', body: reason === '' ? {} : { reason } }),
  rerun: (runId: string, body: RequestBody<'rerunRun'>, idempotencyKey: string): Promise<{ readonly runId: string }> =>
    ask(`runs/${segment(runId)}/rerun`, { method: 'POST', body, idempotencyKey }),
  resume: (body: RequestBody<'resumeRun'>, idempotencyKey: string): Promise<unknown> =>
    ask('runs/resume', { method: 'POST', body, idempotencyKey }),
  wake: (runId: string, nodeIds: readonly string[]): Promise<unknown> =>
    ask(`runs/${segment(runId)}/wake`, { method: 'POST', body: { nodeIds } }),
  retryNow: (runId: string, nodeIds: readonly string[]): Promise<unknown> =>
    ask(`runs/${segment(runId)}/wake`, { method: 'POST', body: { nodeIds, retries: true } }),
  sendSignal: (body: SignalBody): Promise<Sent> => ask('signals', { method: 'POST', body }),
  schedules: (query: Query, signal: AbortSignal): Promise<SchedulePage> => ask('schedules', { query, signal }),
  schedule: (id: string, signal: AbortSignal): Promise<Schedule> => ask(`schedules/${segment(id)}`, { signal }),
  createSchedule: (body: NewSchedule): Promise<Schedule> => ask('schedules', { method: 'POST', body }),
  updateSchedule: (id: string, body: ScheduleChange): Promise<Schedule> =>
    ask(`schedules/${segment(id)}`, { method: 'POST', body }),
  pauseSchedule: (id: string): Promise<Schedule> => ask(`schedules/${segment(id)}/pause`, { method: 'POST' }),
  resumeSchedule: (id: string): Promise<Schedule> => ask(`schedules/${segment(id)}/resume`, { method: 'POST' }),
  deleteSchedule: (id: string): Promise<unknown> => ask(`schedules/${segment(id)}`, { method: 'DELETE' }),
  deployments: (query: Query, signal: AbortSignal): Promise<DeploymentPage> => ask('deployments', { query, signal }),
  apps: (signal: AbortSignal): Promise<ResponseBody<'listApps'>> => ask('apps', { signal }),
  /** @param allowRemoval also removes workflows that open runs or schedules use */
  activate: (deploymentId: string, allowRemoval: boolean): Promise<unknown> =>
    ask(`deployments/${segment(deploymentId)}/activate`, { method: 'POST', body: { allowRemoval } }),
  rollBack: (deploymentId: string, allowRemoval: boolean): Promise<unknown> =>
    ask('deployments/rollback', { method: 'POST', body: { deploymentId, allowRemoval } }),
  deactivate: (deploymentId: string, allowRemoval: boolean): Promise<unknown> =>
    ask(`deployments/${segment(deploymentId)}/deactivate`, { method: 'POST', body: { allowRemoval } }),
  removeDeployment: (deploymentId: string): Promise<unknown> => ask(`deployments/${segment(deploymentId)}`, { method: 'DELETE' }),
  lenses: (query: Query, signal: AbortSignal): Promise<LensPage> => ask('lenses', { query, signal }),
  /** @param version undefined: the latest one */
  lens: (name: string, version: number | undefined, signal: AbortSignal): Promise<Lens> =>
    ask(`lenses/${segment(name)}`, { query: { version }, signal }),
  /** @param body a form that the server checks */
  createLens: (body: unknown): Promise<ResponseBody<'createLens'>> => ask('lenses', { method: 'POST', body }),
  publishLens: (name: string, body: unknown): Promise<ResponseBody<'publishLens'>> =>
    ask(`lenses/${segment(name)}/versions`, { method: 'POST', body }),
  createQuery: (body: unknown): Promise<ResponseBody<'createQuery'>> => ask('queries', { method: 'POST', body }),
  publishQuery: (name: string, body: unknown): Promise<ResponseBody<'publishQueryVersion'>> =>
    ask(`queries/${segment(name)}/versions`, { method: 'POST', body }),
  queries: (query: Query, signal: AbortSignal): Promise<QueryPage> => ask('queries', { query, signal }),
  /** @param version undefined: the latest one */
  query: (name: string, version: number | undefined, signal: AbortSignal): Promise<StoredQuery> =>
    ask(`queries/${segment(name)}`, { query: { version }, signal }),
};
