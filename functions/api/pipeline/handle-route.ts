/**
 * One request from the door to the answer: HTTPS, key, rate, scope, parse, operation, audit. Each step answers or lets on.
 */
import type { Route } from '../../../lib/api/route.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import { type Trace, traceFields } from '../../../lib/engine/trace.ts';
import type { ApiKey, KeyScope } from '../../../lib/ports/control.ts';
import { type AnyResponse, type AnyOperation, type CallerContext, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { type AuditTrail, auditTrail } from './audit-trail.ts';
import { authenticate, checkRate, checkScope, hasKeyInQuery } from './check-key.ts';
import { type HttpCall, isProvenHttps } from './http-call.ts';
import { readRequest } from './read-request.ts';

/** Routes without a key look at no records, so whose they would be is nobody's. */
const anonymousCaller = {
  scope: { projectId: projectId('-'), environment: environment('-') },
  caller: undefined,
  scopes: [],
} as const;

export const handleRoute = async (
  tools: Tools,
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  trace: Trace,
): Promise<AnyResponse> => {
  const mustBeHttps = tools.decider.deps.settings.requiresHttps && route.allowsPlainHttp !== true;
  // Before the key is looked at: one that came in the clear is not to be told whether it works.
  if (mustBeHttps && !isProvenHttps(call)) return refuse('https_required');
  // It is not looked at either: whoever reads the addresses on the way has it too.
  if (route.scope !== null && hasKeyInQuery(call)) return refuse('key_in_query');
  const trail = auditTrail(tools, route, call, trace);
  const notRecorded = tools.failures.startNewWindow();
  if (notRecorded > 0) tools.logger.warn('failed authentications were not recorded', { ...traceFields(trace), notRecorded });
  if (route.scope === null) {
    const response = await runOperation(route, operation, call, { ...anonymousCaller, trace });
    await trail.recordResponse(undefined, response);
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
  // Beside everything else, and over before the answer: nothing goes on in a function that has answered.
  const recordingUse = recordKeyUse(tools, key, trace);
  try {
    return await handleAuthenticated(tools, route, operation, call, { key, trail, trace });
  } finally {
    await recordingUse;
  }
};

interface AuthenticatedContext {
  readonly key: ApiKey;
  readonly trail: AuditTrail;
  readonly trace: Trace;
}

const handleAuthenticated = async (
  tools: Tools,
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  { key, trail, trace }: AuthenticatedContext,
): Promise<AnyResponse> => {
  const { headers, refusal } = await checkRate(tools, key);
  // Not recorded: a key that is over its limit must not cost a write for each refusal.
  if (refusal !== undefined) return { ...refusal, headers };

  const callerContext = {
    scope: { projectId: key.projectId, environment: key.environment },
    caller: key.keyId,
    scopes: key.scopes,
    trace,
  };
  const response = await withAudit(
    trail,
    key,
    async () => checkScopeOf(route.scope, key) ?? runOperation(route, operation, call, callerContext),
  );
  return { ...response, headers: { ...headers, ...response.headers } };
};

/** That a use cannot be noted stops nobody: the next request tries again in another hour, or another function. */
const recordKeyUse = async ({ authenticator, logger }: Tools, key: ApiKey, trace: Trace): Promise<void> => {
  try {
    await authenticator.recordUse(key);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    logger.warn('the use of a key was not noted', { ...traceFields(trace), keyId: key.keyId, error });
  }
};

const checkScopeOf = (required: KeyScope | null, key: ApiKey) => (required === null ? undefined : checkScope(key, required));

const withAudit = async (trail: AuditTrail, key: ApiKey, produceResponse: () => Promise<AnyResponse>): Promise<AnyResponse> => {
  let response: AnyResponse;
  try {
    response = await produceResponse();
  } catch (thrown) {
    await trail.recordError(key, thrown);
    throw thrown;
  }
  await trail.recordResponse(key, response);
  return response;
};

const runOperation = async (
  route: Route,
  operation: AnyOperation,
  call: HttpCall,
  callerContext: CallerContext,
): Promise<AnyResponse> => {
  const parsed = await readRequest(route, call);
  return 'refusal' in parsed ? parsed.refusal : operation({ ...parsed.request, ...callerContext });
};
