/** Entry point of the thread that runs HTTP bundles: imports bundles, and calls their `POST` for each request. */
import { parentPort } from 'node:worker_threads';
import { invariant } from '../engine/invariant.ts';
import { errorText } from '../engine/error-text.ts';
import type { DevKitApp } from './devkit-thread.ts';
import type { FromThread, ThreadRequest, ThreadWebhook, ToThread } from './messages.ts';
import { handleWebhook } from './webhook-thread.ts';
import { forwardOutput, responseLimits } from './code-output.ts';

const port = parentPort;
invariant(port !== null, 'the thread of a deployment must run as a worker thread');
const sendMessage = (message: FromThread): void => port.postMessage(message);

const resetPrintBudget = forwardOutput(
  () => undefined,
  (_source, stream, text) => sendMessage({ kind: 'printed', stream, text }),
);

type Post = (request: Request) => unknown;
const isPost = (value: unknown): value is Post => typeof value === 'function';
const isModule = (value: unknown): value is { readonly POST?: unknown } => typeof value === 'object' && value !== null;

/** When Node cannot detect the exports of a CommonJS bundle, all of them are under `default`. */
const postIn = (module: { readonly POST?: unknown; readonly default?: unknown }): Post | undefined => {
  const candidates = [module.POST, isModule(module.default) ? module.default.POST : undefined];
  return candidates.find(isPost);
};

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // The parent process ends the thread if the body never ends.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > responseLimits.bodyBytes) throw new RangeError(`the response is larger than ${responseLimits.bodyBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

async function load({ bundle }: ThreadRequest): Promise<Post> {
  const post = postIn(await import(bundle));
  if (post === undefined) throw new TypeError('the bundle exports no function POST');
  return post;
}

async function call(
  post: Post,
  { url, headers, body }: ThreadRequest,
): Promise<{ readonly status: number; readonly body: string }> {
  const response = await post(new Request(url, { method: 'POST', headers, body }));
  if (!(response instanceof Response)) throw new TypeError('POST must return a Response');
  return { status: response.status, body: await textOf(response) };
}

let devKitApp: DevKitApp | undefined;

/** Only apps of the Workflow DevKit load its World. */
async function devKitAppOf({ devKit }: Pick<ThreadRequest, 'devKit'>): Promise<DevKitApp | undefined> {
  if (devKit === undefined) return undefined;
  const { DevKitApp: App } = await import('./devkit-thread.ts');
  return (devKitApp ??= new App(devKit, sendMessage));
}

async function handleRequest(request: ThreadRequest): Promise<FromThread> {
  const { id, endsAt } = request;
  const app = await devKitAppOf(request);
  let post: Post;
  try {
    post = await load(request);
  } catch (error) {
    return { kind: 'unloadable', id, message: errorText(error) };
  }
  sendMessage({ kind: 'loaded', id });
  try {
    const handler = (): Promise<{ readonly status: number; readonly body: string }> => call(post, request);
    const response = await (app === undefined ? handler() : app.handle(endsAt, handler));
    const refusal = app === undefined ? ownWorld() : app.refusal;
    return refusal === undefined ? { kind: 'responded', id, ...response } : { kind: 'unloadable', id, message: refusal };
  } catch (error) {
    return { kind: 'threw', id, message: errorText(error) };
  }
}

async function handleWebhookRequest(request: ThreadWebhook): Promise<FromThread> {
  const app = await devKitAppOf(request);
  if (app === undefined)
    return { kind: 'unloadable', id: request.id, message: 'the deployment is no app of the Workflow DevKit' };
  return handleWebhook(app, request, () => sendMessage({ kind: 'loaded', id: request.id }));
}

/** Here the Workflow DevKit keeps the World that it has made. For a deployment of another runtime the platform made none. */
const devKitWorld = Symbol.for('@workflow/world//cache');
const ownWorld = (): string | undefined =>
  Reflect.has(globalThis, devKitWorld)
    ? 'the bundle keeps its runs in a World of the Workflow DevKit that it made itself, in files of the function, so the run would never ' +
      'end: deploy it with the runtime devkit (`stepwell deploy` in the folder of the app)'
    : undefined;

port.on('message', (message: ToThread) => {
  if (message.kind === 'world_answered') return devKitApp?.answer(message);
  Object.assign(process.env, message.credentialVariables);
  const handling = message.kind === 'webhook' ? handleWebhookRequest(message) : handleRequest(message);
  void handling.then((answer) => {
    sendMessage(answer);
    // Later output belongs to another message, or to none.
    resetPrintBudget(undefined);
  });
});
