/** Runs an `http` node: sends the request, follows redirects itself to check each hop, and stores the response as output. */
import { defined } from '../../base/defined.ts';
import { fetch } from 'undici';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { checkPayload } from '../../engine/graph/payload-limits.ts';
import { type JsonObject, inline } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import { type NodeTools, type RunResult, type Runner, failed, runner, unlessAborted } from '../runner.ts';
import { type NetworkAccess, destinationOf, forbiddenMessage } from '../../egress/destination.ts';
import { pinnedAgent } from '../../egress/pinned-agent.ts';
import { retryAfter } from '../../egress/retry-after.ts';
import { type HttpResponse, statusFailure, readResponse } from './response.ts';
import { type Outgoing, isRedirect, redirected, requestOf } from './request.ts';
import { withDetail } from '../shown-input.ts';
import { shownRequest } from './shown-request.ts';
import { type HttpConfig, http, isHttp } from './shape.ts';

type Mask = NodeTools['secrets']['mask'];

export const runHttp = (networkAccess: NetworkAccess): Runner =>
  runner(http, async (config, input, tools) => {
    const secretTexts = await tools.secrets.readNamedIn([config.headers, config.query, config.body]);
    if ('failure' in secretTexts) return failed(secretTexts.failure);
    const request = requestOf(config, input.context, tools, secretTexts.texts);
    if (typeof request === 'string') return failed({ cause: 'invalid', code: 'request_invalid', message: request });
    const limit = AbortSignal.timeout(tools.timeoutMs);
    const signal = AbortSignal.any([tools.signal, limit]);
    const withRequest = (result: RunResult): RunResult => {
      const secrets = { names: secretTexts.texts.keys(), mask: tools.secrets.mask };
      return withDetail(result, 'request', () => shownRequest(config, input.context, tools, secrets));
    };
    try {
      return withRequest(await sendFollowingRedirects(config, request, networkAccess, { signal, mask: tools.secrets.mask }));
    } catch (error) {
      tools.signal.throwIfAborted();
      return withRequest(failed(limit.aborted ? timeoutFailure(tools) : unreachableFailure(request.url, error)));
    }
  });

async function sendFollowingRedirects(
  config: HttpConfig,
  first: Outgoing,
  networkAccess: NetworkAccess,
  { signal, mask }: { readonly signal: AbortSignal; readonly mask: Mask },
): Promise<RunResult> {
  let request = first;
  for (let hops = 0; ; hops += 1) {
    if (!isHttp(request.url)) return refused('protocol_forbidden', `the protocol ${request.url.protocol} is not http or https`);
    const destination = await unlessAborted(destinationOf(request.url.hostname, networkAccess), signal);
    if ('refused' in destination)
      return destination.refused === 'forbidden'
        ? refused('address_forbidden', forbiddenMessage(request.url.hostname))
        : failed(nameNotResolved(request.url));
    const agent = pinnedAgent(destination.addresses);
    try {
      const { method, url, headers, body = null } = request;
      const response = await fetch(url.href, {
        method,
        body,
        headers: [...headers.entries()],
        redirect: 'manual',
        dispatcher: agent,
        signal,
      });
      const location = response.headers.get('location');
      const next =
        config.maxRedirects > 0 && location !== null && isRedirect(response.status)
          ? redirected(request, response.status, location)
          : undefined;
      if (next === undefined) return toResult(config, mask, await readResponse(response, config.maxResponseBytes));
      if (next === 'forbidden')
        return refused('redirect_forbidden', `the redirect of ${request.url.host} would send a secret to another origin`);
      if (hops >= config.maxRedirects)
        return failed({ cause: 'invalid', code: 'too_many_redirects', message: `more than ${config.maxRedirects} redirects` });
      request = next;
    } finally {
      await agent.destroy();
    }
  }
}

function toResult(config: HttpConfig, mask: Mask, received: HttpResponse | undefined): RunResult {
  if (received === undefined) {
    const message = `the response is larger than ${config.maxResponseBytes} bytes (maxResponseBytes)`;
    return failed({ cause: 'invalid', code: 'response_too_large', message });
  }
  const hasFailed = config.failOnStatus !== false && received.status >= config.failOnStatus;
  // Checked before any recursion. For an error response, the status is the failure.
  const payloadFailure = checkPayload(inline({ body: received.body }));
  if (payloadFailure !== undefined && !hasFailed) return failed(payloadFailure);
  const body = payloadFailure === undefined ? received.body : null;
  // Masked before the body is cut, because a part of a secret would not be found.
  const answer = { ...received, headers: mask.object(received.headers), body: mask.value(body) };
  if (hasFailed) {
    const retryAfterMs = retryAfter(answer);
    return failed(statusFailure(answer), retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  const { status, headers, bodyEncoding } = answer;
  const output: JsonObject = defined({ status, headers, body: answer.body, bodyEncoding });
  return { outcome: { kind: 'finished', output: inline(output), handle: mainHandle }, printed: [] };
}

const refused = (code: string, message: string): RunResult => failed({ cause: 'forbidden', code, message });

const nameNotResolved = ({ hostname }: URL): Failure => ({
  cause: 'provider_error',
  code: 'name_not_resolved',
  message: `the name ${hostname} has no address at the moment`,
});

const timeoutFailure = ({ timeoutMs }: NodeTools): Failure => ({
  cause: 'timeout',
  code: 'http_timeout',
  message: `no complete response within ${timeoutMs} ms`,
  details: { timeoutMs },
});

/** fetch reports only that it failed; the reason is in the cause. */
const unreachableFailure = ({ host }: URL, error: unknown): Failure => {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const messageText = reason instanceof Error ? reason.message : String(reason);
  return { cause: 'provider_error', code: 'unreachable', message: `the request to ${host} failed: ${messageText.slice(0, 500)}` };
};
