/** The responses of an application whose runs execute elsewhere: it refuses queue callbacks and serves the diagnostics. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Environment, hostFacts } from './environment.ts';
import { type HitStore, memoryHits } from './hit-store.ts';
import { type Sleep, readJsonBody, sleepByTimer } from './read-body.ts';
import { reportOf } from './report.ts';
import { isCallback, isMessageShaped, markersOfHit, withoutSlash } from './unexpected-hit.ts';

export const diagnosticsPath = '/api/workflow-studio/diagnostics/remote-ownership';

export interface AppHostOptions {
  /** `process.env`; read for each request */
  readonly env: Environment;
  /** takes precedence over WORKFLOW_EXECUTION_MODE */
  readonly executionMode?: 'local' | 'remote';
  /** default: a store of this process alone */
  readonly hits?: HitStore;
  /** called when a hit cannot be recorded or the counts cannot be read; default: a process warning */
  readonly onError?: (error: unknown) => void;
  /** epoch milliseconds */
  readonly now?: () => number;
  readonly sleep?: Sleep;
}

export interface AppHost {
  /** Whether `handle` responds to this request. All other requests belong to the application, and their bodies stay unread. */
  readonly matches: (method: string, path: string) => boolean;
  /** undefined: the application handles the request */
  readonly handle: (request: Request) => Promise<Response | undefined>;
}

export const appHost = ({
  env,
  executionMode,
  hits = memoryHits(),
  onError = (error) => process.emitWarning(`stepwell/app-host: ${String(error)}`),
  now = Date.now,
  sleep = sleepByTimer,
}: AppHostOptions): AppHost => {
  const facts = () => hostFacts(env, executionMode);
  const matches = (method: string, path: string): boolean =>
    withoutSlash(path) === diagnosticsPath || (isCallback(method, path) && facts().isRemote);

  const rejectCallback = async (request: Request, path: string): Promise<Response> => {
    const markers = markersOfHit(request.method, path, request.headers);
    if (markers !== undefined) {
      const at = now();
      const bodyShapeMatched = isMessageShaped(await readJsonBody(request, sleep));
      try {
        await hits.record({ at, path: withoutSlash(path), markerHeaders: markers, bodyShapeMatched });
      } catch (error) {
        onError(error);
      }
    }
    const message = 'Runs of this application execute elsewhere: it accepts no queue callbacks.';
    return jsonResponse(409, { code: 'remote_mode_active', message });
  };

  const diagnose = async ({ method, headers }: Request): Promise<Response> => {
    const { isProduction, diagnosticsToken: token } = facts();
    // Without a token no caller could be authenticated, so the page does not exist in production.
    if (token === undefined && isProduction)
      return jsonResponse(404, { code: 'not_found', message: 'The diagnostics are disabled.' });
    if (token !== undefined && !isBearer(headers.get('authorization'), token))
      return jsonResponse(
        401,
        { code: 'unauthorized', message: 'The diagnostics need their bearer token.' },
        { 'WWW-Authenticate': 'Bearer' },
      );
    if (method !== 'GET') return jsonResponse(405, { code: 'method_not_allowed', message: 'Use GET.' }, { Allow: 'GET' });
    try {
      return jsonResponse(200, reportOf(facts(), await hits.counts(now())));
    } catch (error) {
      onError(error);
      return jsonResponse(503, {
        code: 'unavailable',
        message: 'The counts of unexpected hits are unavailable; retry the request.',
      });
    }
  };

  return {
    matches,
    handle: async (request) => {
      const { pathname } = new URL(request.url);
      if (!matches(request.method, pathname)) return undefined;
      return withoutSlash(pathname) === diagnosticsPath ? diagnose(request) : rejectCallback(request, pathname);
    },
  };
};

const jsonResponse = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json(body, { status, headers: { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', ...headers } });

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares in constant time, also for tokens of different lengths. */
const isBearer = (header: string | null, token: string): boolean => {
  const presented = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  return presented !== undefined && timingSafeEqual(digest(presented), digest(token));
};
