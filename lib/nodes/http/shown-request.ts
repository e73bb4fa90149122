/** The request of a failed attempt as its failure stores it: after templates, bounded, and without secrets. */
import type { ContextView } from '../../engine/graph/context.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { SecretMask } from '../../egress/secret-mask.ts';
import type { NodeTools } from '../runner.ts';
import { cut, hidden, isSensitive } from '../../engine/graph/shown-values.ts';
import { requestOf } from './request.ts';
import type { HttpConfig } from './shape.ts';

/** In characters. Together with the excerpt of the response, they fit into the details of a failure. */
export const shownRequestLimits = { url: 500, header: 100, headers: 10, body: 1_000 } as const;

/**
 * Resolves the templates again, with a placeholder in place of each secret, so that no secret can be part of it.
 * @param names of the secrets in the config
 * @param mask for values of the context that contain a secret
 * @returns undefined if the config gives no request
 */
export function shownRequest(
  config: HttpConfig,
  context: ContextView,
  tools: Pick<NodeTools, 'token' | 'trace'>,
  { names, mask }: { readonly names: Iterable<string>; readonly mask: SecretMask },
): JsonObject | undefined {
  const placeholders = new Map([...names].map((name) => [name, `[secret:${name}]`]));
  const request = requestOf(config, context, tools, placeholders);
  if (typeof request === 'string') return undefined;
  const { method, url, headers, body } = request;
  for (const name of new Set(url.searchParams.keys())) if (isSensitive(name)) url.searchParams.set(name, hidden);
  const shownHeaders = [...headers.entries()]
    .slice(0, shownRequestLimits.headers)
    .map(([name, value]) => [name, isSensitive(name) ? hidden : cut(mask.text(value), shownRequestLimits.header)] as const);
  // Masked before it is cut, because a part of a secret would not be found.
  const shownBody = body === undefined ? {} : { body: cut(mask.text(body), shownRequestLimits.body) };
  const readable = [hidden, ...placeholders.values()].reduce(
    (text, each) => text.replaceAll(encodeURIComponent(each), each),
    url.href,
  );
  const shownUrl = cut(mask.text(readable), shownRequestLimits.url);
  return { method, url: shownUrl, headers: Object.fromEntries(shownHeaders), ...shownBody };
}
