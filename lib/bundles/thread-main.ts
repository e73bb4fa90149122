/** The inside of a deployment's thread: imports its bundles, and hands their `POST` one request after another. */
import { parentPort } from 'node:worker_threads';
import { invariant } from '../engine/invariant.ts';
import { wordsOf } from '../engine/words-of.ts';
import { answerLimits } from './answer-limits.ts';
import type { FromThread, ThreadRequest } from './thread-messages.ts';
import { sendPrints } from './thread-prints.ts';

const port = parentPort;
invariant(port !== null, 'the thread of a deployment was started as a program of its own');
const say = (message: FromThread): void => port.postMessage(message);

const beginCounting = sendPrints(
  () => undefined,
  (_whose, stream, text) => say({ kind: 'printed', stream, text }),
);

type Post = (request: Request) => unknown;
const isPost = (value: unknown): value is Post => typeof value === 'function';
const isModule = (value: unknown): value is { readonly POST?: unknown } => typeof value === 'object' && value !== null;

/** A CommonJS bundle whose exports Node cannot tell from its text has them all under `default`. */
const postIn = (module: { readonly POST?: unknown; readonly default?: unknown }): Post | undefined => {
  const candidates = [module.POST, isModule(module.default) ? module.default.POST : undefined];
  return candidates.find(isPost);
};

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // A response whose body never ends is stopped from outside, when its time is over.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > answerLimits.bodyBytes) throw new RangeError(`the response is larger than ${answerLimits.bodyBytes} bytes`);
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
  if (!(response instanceof Response)) throw new TypeError('POST must answer with a Response');
  return { status: response.status, body: await textOf(response) };
}

async function answer(request: ThreadRequest): Promise<FromThread> {
  const { id } = request;
  let post: Post;
  try {
    post = await load(request);
  } catch (error) {
    return { kind: 'unloadable', id, message: wordsOf(error) };
  }
  say({ kind: 'loaded', id });
  try {
    return { kind: 'answered', id, ...(await call(post, request)) };
  } catch (error) {
    return { kind: 'threw', id, message: wordsOf(error) };
  }
}

port.on('message', (request: ThreadRequest) => {
  Object.assign(process.env, request.lent);
  void answer(request).then((message) => {
    say(message);
    // What follows belongs to another message, or to none.
    beginCounting(undefined);
  });
});
