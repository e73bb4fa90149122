/** Handles one request in order: HTTPS, key, rate limit, scope, parsing, operation, audit trail. Each step passes on or refuses. */
import { allows } from '../../../lib/api/auth.ts';
import { withoutPayloads } from '../../../lib/api/payloads.ts';
import type { Route } from '../../../lib/api/route.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import { type Trace, traceFields } from '../../../lib/engine/trace.ts';
import type { KeyScope } from '../../../lib/ports/control.ts';
import { recordSessionUse } from '../../../lib/service/access/sessions.ts';
import type { CallerContext } from '../caller.ts';
import { type AnyOperation, type AnyResponse, type CommonTools, refuse } from '../operation.ts';
import { type AuditTrail, auditTrail } from './audit-trail.ts';
import { type AuthenticatedKey, authenticate, checkRate, checkScope, hasKeyInQuery } from './check-key.ts';
import { type HttpCall, isProvenHttps } from './http-call.ts';
import { readRequest } from './read-request.ts';

/** Placeholder caller of routes without a key: they read no records of a project. */
const anonymousCaller = {
  scope: { projectId: projectId('-'), environment: environment('-') },
  caller: undefined,
  session: undefined,
  scopes: [],
} as const;

export const handleRoute = async <Using extends CommonTools>(
  tools: Using,
  route: Route,
  operation: AnyOperation<Using>,
  call: HttpCall,
  trace: Trace,
): Promise<AnyResponse> => {
  const mustBeHttps = tools.decider.deps.settings.requiresHttps && route.allowsPlainHttp !== true;
  // Before authentication: a key that was sent unencrypted must not be confirmed.
  if (mustBeHttps && !isProvenHttps(call)) return refuse('https_required');
  // Before authentication too: URLs are logged along the way, so a key in the query may have leaked.
  if (route.scope !== null && hasKeyInQuery(call)) return refuse('key_in_query');
  const trail = auditTrail(tools, route, call, trace);
  const notRecorded = tools.failures.startNewWindow();
  if (notRecorded > 0)
    tools.logger.warn('failed authentications were not recorded: over the limit of audit entries', {
      ...traceFields(trace),
      notRecorded,
    });
  if (route.scope === null) {
    const { finish, ...works } = workAlongside((response) => trail.recordResponse(undefined, response));
    const response = await runOperation(tools, route, operation, call, { ...anonymousCaller, trace, ...works });
    await finish(() => trail.recordResponse(undefined, response));
    return response;
  }
  const authenticated = await authenticate(tools, route, call);
  if (authenticated.kind !== 'authenticated') {
    await trail.recordFailedAuthentication(
      authenticated.why,
      authenticated.kind === 'unauthorized' ? authenticated.key : undefined,
    );
    return refuse(authenticated.kind);
  }
  const { key } = authenticated;
  // Runs concurrently and is awaited before the response, because Lambda freezes the process after it.
  const recordingUse = recordKeyUse(tools, key, trace);
  try {
    return await handleAuthenticated(tools, route, operation, call, { key, trail, trace });
  } finally {
    await recordingUse;
  }
};

interface Alongside extends Required<Pick<CallerContext, 'alongside' | 'recordNow'>> {
  /** Writes the audit entry, unless it is recorded already, and waits for it and for the work beside it. */
  readonly finish: (record: () => Promise<void>) => Promise<void>;
}

const workAlongside = (record: (response: AnyResponse) => Promise<void>): Alongside => {
  const works: Promise<void>[] = [];
  let isRecorded = false;
  const alongside = (work: Promise<void>): void => {
    // An error before the end of the operation must not end the process: `finish` throws it.
    work.catch(() => undefined);
    works.push(work);
  };
  return {
    alongside,
    recordNow: (response) => {
      isRecorded = true;
      alongside(record({ body: {}, ...response }));
    },
    finish: async (recordLast) => void (await Promise.all([isRecorded ? undefined : recordLast(), ...works])),
  };
};

interface AuthenticatedContext {
  readonly key: AuthenticatedKey;
  readonly trail: AuditTrail;
  readonly trace: Trace;
}

const handleAuthenticated = async <Using extends CommonTools>(
  tools: Using,
  route: Route,
  operation: AnyOperation<Using>,
  call: HttpCall,
  { key, trail, trace }: AuthenticatedContext,
): Promise<AnyResponse> => {
  const { headers, refusal } = await checkRate(tools, key);
  // No audit entry: a key over its limit must not cause a write for each refused request.
  if (refusal !== undefined) return { ...refusal, headers };

  const { finish, ...works } = workAlongside((response) => trail.recordResponse(key, response));
  const callerContext = {
    scope: { projectId: key.projectId, environment: key.environment },
    caller: key.keyId,
    session: key.session,
    scopes: key.scopes,
    trace,
    ...works,
  };
  const response = await withAudit(
    trail,
    key,
    finish,
    async () =>
      checkScopeOf(route.scope, key) ??
      withoutHidden(route, key, await runOperation(tools, route, operation, call, callerContext)),
  );
  return { ...response, headers: { ...headers, ...response.headers } };
};

/** A failure to record the use does not fail the request. A later request records it. */
const recordKeyUse = async (
  { authenticator, decider: { deps }, logger }: CommonTools,
  key: AuthenticatedKey,
  trace: Trace,
): Promise<void> => {
  try {
    await authenticator.recordUse(key);
    if (key.session !== undefined) await recordSessionUse(deps, key.session);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    logger.warn('use of a key could not be recorded', { ...traceFields(trace), keyId: key.keyId, error });
  }
};

const checkScopeOf = (required: KeyScope | null, key: AuthenticatedKey) =>
  required === null ? undefined : checkScope(key, required);

/** A stream hides its data itself. Status 202 accepts a request: the run has no data yet. */
const withoutHidden = ({ payloads }: Route, { scopes }: AuthenticatedKey, response: AnyResponse): AnyResponse =>
  payloads === undefined || !('body' in response) || response.status === 202 || allows(scopes, 'payloads:read')
    ? response
    : { ...response, body: withoutPayloads(response.body, payloads) };

const withAudit = async (
  trail: AuditTrail,
  key: AuthenticatedKey,
  finish: Alongside['finish'],
  produceResponse: () => Promise<AnyResponse>,
): Promise<AnyResponse> => {
  let response: AnyResponse;
  try {
    response = await produceResponse();
  } catch (thrown) {
    await finish(() => trail.recordError(key, thrown));
    throw thrown;
  }
  await finish(() => trail.recordResponse(key, response));
  return response;
};

const runOperation = async <Using extends CommonTools>(
  tools: Using,
  route: Route,
  operation: AnyOperation<Using>,
  call: HttpCall,
  callerContext: CallerContext,
): Promise<AnyResponse> => {
  const parsed = await readRequest(route, call);
  if (!('refusal' in parsed)) return operation(tools, { ...parsed.request, ...callerContext });
  const { refusal, known } = parsed;
  const findings = known === undefined ? [] : (tools.findingsOfDefinition?.(known) ?? []);
  if (findings.length === 0) return refusal;
  return { ...refusal, details: { ...refusal.details, errors: [...(refusal.details?.errors ?? []), ...findings] } };
};
