/**
 * The page of an embed: text without a script, which only the origins of its token may frame. The page loads itself again while the run
 * is open, and that of a workflow also after it, because the workflow may start another. It needs no cookie and sets none.
 */
import { randomBytes } from 'node:crypto';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { LRUCache } from 'lru-cache';
import { embedTokenPattern, secretDigest } from '../../lib/api/auth.ts';
import { devKitNamePattern } from '../../lib/engine/ids.ts';
import { type Instant, iso, seconds } from '../../lib/engine/time.ts';
import type { Embed } from '../../lib/ports/embeds.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type EmbedView, findEmbed, viewEmbed } from '../../lib/service/access/embeds.ts';
import type { CommonTools } from '../api/operation.ts';

const pathPrefix = '/embed/';
/** Visitors of one page see one view. */
const viewTtlMs = seconds(5);
const maxCachedViews = 200;
/** `ended`: until the workflow has another run. */
const refreshSeconds = { open: 10, ended: 60 } as const;

export const isEmbedPage = ({ path }: Pick<APIGatewayProxyEvent, 'path'>): boolean => path.startsWith(pathPrefix);

interface CachedView {
  readonly readAt: Instant;
  readonly expiresAt: Instant;
  readonly origins: readonly string[];
  readonly target: Embed['target']['kind'];
  readonly view: EmbedView;
}

type FoundView =
  | { readonly kind: 'view'; readonly cached: CachedView }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'rate_limited'; readonly origins: readonly string[] };

/** When a frame loads itself again that could not show its view, in seconds. Without this, one flood would stop it until the page around it is loaded. */
const retrySeconds = { rate_limited: 60, unavailable: 10 } as const;
/** Of a text that is the same for every token. */
const everyAncestor = ['*'] as const;

export function embedPage({ decider: { deps }, rates, logger }: Pick<CommonTools, 'decider' | 'rates' | 'logger'>) {
  const cached = new LRUCache<string, CachedView>({ max: maxCachedViews });

  const read = async (digest: string): Promise<FoundView> => {
    const known = cached.get(digest);
    const now = deps.clock.now();
    if (known !== undefined && now - known.readAt < viewTtlMs && now < known.expiresAt) return { kind: 'view', cached: known };
    cached.delete(digest);
    const embed = await findEmbed(deps, digest);
    if (embed === undefined) return { kind: 'not_found' };
    const { keyId, id, origins, expiresAt, target } = embed;
    if ((await rates.takeForEmbed(keyId, id)).kind === 'rate_limited') return { kind: 'rate_limited', origins };
    const fresh = { readAt: now, expiresAt, origins, target: target.kind, view: await viewEmbed(deps, embed) };
    cached.set(digest, fresh);
    return { kind: 'view', cached: fresh };
  };

  return async (event: Pick<APIGatewayProxyEvent, 'path' | 'httpMethod' | 'headers'>): Promise<APIGatewayProxyResult> => {
    if (event.httpMethod !== 'GET') return page(405, [], 'This page answers GET.', { allow: 'GET' });
    const proto = Object.entries(event.headers).find(([name]) => name.toLowerCase() === 'x-forwarded-proto')?.[1];
    if (deps.settings.requiresHttps && proto !== 'https') return page(400, [], 'This page needs HTTPS.');
    const token = event.path.slice(pathPrefix.length);
    try {
      const found = embedTokenPattern.test(token) ? await read(secretDigest(token)) : ({ kind: 'not_found' } as const);
      if (found.kind === 'not_found') return page(404, [], 'This status is no longer shared.');
      if (found.kind === 'rate_limited')
        return page(429, found.origins, 'Too many views. It appears again in a minute.', retryIn(retrySeconds.rate_limited));
      return viewPage(found.cached);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      logger.warn('the page of an embed is unavailable', { error });
      return page(503, everyAncestor, 'The status cannot be read now.', retryIn(retrySeconds.unavailable));
    }
  };
}

function viewPage({ origins, target, view: { workflowName, run } }: CachedView): APIGatewayProxyResult {
  const isOpen = run === undefined || !['completed', 'failed', 'cancelled'].includes(run.status);
  const lines = [`<h1>${escaped(shownName(workflowName))}</h1>`];
  if (run === undefined) lines.push('<p>has no run</p>');
  else {
    lines.push(`<p class="${escaped(run.status)}">${escaped(run.status.replaceAll('_', ' '))}</p>`);
    lines.push(
      `<p class="dim">started ${time(run.createdAt)}${run.endedAt === undefined ? '' : `, ended ${time(run.endedAt)}`}</p>`,
    );
  }
  const shown = response(200, origins, lines.join('\n'));
  // Nothing of the page takes the focus, so loading it again interrupts no reader.
  const again = isOpen ? refreshSeconds.open : target === 'run' ? undefined : refreshSeconds.ended;
  return again === undefined ? shown : { ...shown, headers: { ...shown.headers, refresh: String(again) } };
}

/** The name of a DevKit workflow begins with the path of its module, which is not for readers outside. */
const shownName = (name: string): string =>
  devKitNamePattern.test(name) ? name.slice(name.lastIndexOf('//') + 2) || 'workflow' : name;

const time = (at: Instant): string => `<time datetime="${iso(at)}">${iso(at).slice(0, 16).replace('T', ' ')} UTC</time>`;

const retryIn = (count: number) => ({ 'retry-after': String(count), refresh: String(count) });

const page = (statusCode: number, origins: readonly string[], text: string, headers: Readonly<Record<string, string>> = {}) => {
  const made = response(statusCode, origins, `<h1>${escaped(text)}</h1>`);
  return { ...made, headers: { ...made.headers, ...headers } };
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);

/** In the frame that the console gives out, a long name keeps one line, so that the status stays in view. */
const style = `:root{color-scheme:light dark;font:14px/1.4 system-ui,sans-serif}
body{margin:0;padding:12px 16px;background:light-dark(#fff,#181c23);color:light-dark(#171b22,#e9ecf1)}
h1{font-size:15px;margin:0 0 4px;overflow-wrap:anywhere}p{margin:2px 0}
.dim{color:light-dark(#566070,#a0a9b8)}.completed{color:light-dark(#0f6b39,#5fd394)}
.failed{color:light-dark(#b3261e,#ff8f86)}.running,.queued{color:light-dark(#0b57b0,#7fb9ff)}
@media(max-height:140px){h1{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}}`;

function response(statusCode: number, origins: readonly string[], body: string): APIGatewayProxyResult {
  const nonce = randomBytes(16).toString('base64url');
  const ancestors = origins.length === 0 ? "'none'" : origins.join(' ');
  return {
    statusCode,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`,
      'strict-transport-security': 'max-age=63072000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      // The address contains the token.
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    },
    body: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Status</title>
<style nonce="${nonce}">${style}</style></head>
<body><main>${body}</main></body></html>
`,
  };
}
