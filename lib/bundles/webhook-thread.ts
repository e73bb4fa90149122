/** The thread's side of webhooks: resumes the hook by the SDK of the app, and returns the response that its workflow gave. */
import { errorText } from '../engine/error-text.ts';
import { maxWebhookResponseBytes } from '../ports/bundles.ts';
import type { DevKitApp } from './devkit-thread.ts';
import type { FromThread, ThreadWebhook } from './messages.ts';

type ResumeWebhook = (token: string, request: Request) => unknown;
const isFunction = (value: unknown): value is ResumeWebhook => typeof value === 'function';

/** Errors of the SDK for a hook that is gone: none has the token, its run has ended, or another request has disposed it. */
const goneErrors: ReadonlySet<string> = new Set([
  'HookNotFoundError',
  'WorkflowRunNotFoundError',
  'RunExpiredError',
  'EntityConflictError',
]);

export async function handleWebhook(app: DevKitApp, message: ThreadWebhook, onLoaded: () => void): Promise<FromThread> {
  const { id, endsAt } = message;
  let resume: ResumeWebhook;
  try {
    resume = await load(message);
  } catch (error) {
    return { kind: 'unloadable', id, message: errorText(error) };
  }
  onLoaded();
  try {
    const response = await app.handle(endsAt, () => call(resume, message));
    return app.refusal === undefined
      ? { kind: 'webhook_answered', id, ...response }
      : { kind: 'unloadable', id, message: app.refusal };
  } catch (error) {
    if (error instanceof Error && goneErrors.has(error.name)) return { kind: 'no_hook', id };
    return { kind: 'threw', id, message: errorText(error) };
  }
}

async function load({ bundle }: ThreadWebhook): Promise<ResumeWebhook> {
  const { resumeWebhook }: { readonly resumeWebhook?: unknown } = await import(bundle);
  if (!isFunction(resumeWebhook)) throw new TypeError('the bundle exports no function resumeWebhook');
  return resumeWebhook;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
}

async function call(resume: ResumeWebhook, { token, request }: ThreadWebhook): Promise<Answer> {
  const { method, url, headers, body } = request;
  // A request with these methods has no body.
  const hasBody = body.byteLength > 0 && method !== 'GET' && method !== 'HEAD';
  const response = await resume(token, new Request(url, { method, headers, ...(hasBody ? { body: Buffer.from(body) } : {}) }));
  if (!(response instanceof Response)) throw new TypeError('the webhook has no response');
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await bytesOf(response) };
}

async function bytesOf({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxWebhookResponseBytes) throw new RangeError(`the response is larger than ${maxWebhookResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
