/**
 * The setting `corsOrigins`: origins of web pages that may call the API from a browser. Each origin is complete, as a browser sends it
 * in `Origin` (https://fetch.spec.whatwg.org/#origin-header). Patterns are refused, because they could admit unintended pages.
 */
import * as z from 'zod';

export const maxOrigins = 10;
/** The origins are an environment variable of the function; all its variables together may have 4 KB. */
export const maxOriginCharacters = 500;

/** Origins on the developer's machine may use plain HTTP. */
const isLocal = ({ hostname }: URL): boolean => hostname === 'localhost' || hostname === '127.0.0.1';

function originProblem(text: string): string | undefined {
  if (text.includes('*')) return 'has a wildcard: name each origin in full, such as https://app.example.com';
  const url = URL.parse(text);
  // The URL standard allows quotes and commas in a host; host names contain none.
  if (url === null || url.origin !== text || !/^[a-z]+:\/\/[a-z0-9.-]+(:\d+)?$/.test(text))
    return 'must be an origin as browsers send it, with scheme, host and any non-default port, without a path: https://app.example.com';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal(url)))
    return 'must begin with https:// (http:// is allowed only for localhost and 127.0.0.1)';
  return undefined;
}

export const origin = z.string().superRefine((text, context) => {
  const problem = originProblem(text);
  if (problem !== undefined) context.addIssue(`${JSON.stringify(text.slice(0, 100))} ${problem}`);
});

export const corsOrigins = z
  .array(origin)
  .max(maxOrigins, `must contain at most ${maxOrigins} origins`)
  .refine((origins) => new Set(origins).size === origins.length, 'contains an origin twice')
  .refine(
    (origins) => origins.join().length <= maxOriginCharacters,
    `must contain at most ${maxOriginCharacters} characters in total`,
  );
