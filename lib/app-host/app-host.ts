/** What an application answers by itself while its runs are carried out elsewhere: refused callbacks, and the diagnostics. */
import { isBearer } from './bearer.ts';
import { type Environment, hostFacts } from './environment.ts';
import type { HitStore } from './hit-store.ts';
import { memoryHits } from './memory-hits.ts';
import { type Sleep, readJsonBody, sleepByTimer } from './read-body.ts';
import { reportOf } from './report.ts';
import { isCallback, isMessageShaped, markersOfHit, withoutSlash } from './unexpected-hit.ts';

export const diagnosticsPath = '/api/workflow-studio/diagnostics/remote-ownership';

export interface AppHostOptions {
  /** `process.env`; looked at for each request */
  readonly env: Environment;
  /** goes before WORKFLOW_EXECUTION_MODE */
  readonly executionMode?: 'local' | 'remote';
  /** of this process alone, unless a shared one is given */
  readonly hits?: HitStore;
  /** is told why a hit could not be recorded, or the counts not be read; by default a warning of the process */
  readonly onError?: (error: unknown) => void;
  /** of the epoch, in milliseconds */
  readonly now?: () => number;
  readonly sleep?: Sleep;
}

export interface AppHost {
  /** Whether `answer` has an answer to that: all else is the application's own, and its body stays unread. */
  readonly matches: (method: string, path: string) => boolean;
  /** undefined: the application goes on */
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
    const message = 'Runs of this application are carried out elsewhere: its queue callbacks are not answered here.';
    return jsonResponse(409, { code: 'remote_mode_active', message });
  };

  const diagnose = async ({ method, headers }: Request): Promise<Response> => {
    const { isProduction, diagnosticsToken: token } = facts();
    // Without a token nobody could be let in: then the page is not there.
    if (token === undefined && isProduction) return jsonResponse(404, { code: 'not_found', message: 'There is nothing here.' });
    if (token !== undefined && !isBearer(headers.get('authorization'), token))
      return jsonResponse(
        401,
        { code: 'unauthorized', message: 'The diagnostics need their token.' },
        { 'WWW-Authenticate': 'Bearer' },
      );
    if (method !== 'GET') return jsonResponse(405, { code: 'method_not_allowed', message: 'Only GET.' }, { Allow: 'GET' });
    try {
      return jsonResponse(200, reportOf(facts(), await hits.counts(now())));
    } catch (error) {
      onError(error);
      return jsonResponse(503, { code: 'unavailable', message: 'The counts of unexpected hits cannot be read now.' });
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
