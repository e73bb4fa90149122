/**
 * The setting `corsOrigins`: the web pages that may call the API from a browser, by their origins. Each is written in full, as a browser
 * sends it in `Origin` (https://fetch.spec.whatwg.org/#origin-header): a pattern could let a page in that nobody has thought of.
 */
import * as z from 'zod';

const maxOrigins = 10;
/** A function is told them in its environment, of which all variables together may have 4 KB. */
const maxTotalCharacters = 500;

/** What is on the developer's own machine may come without TLS. */
const isLocal = ({ hostname }: URL): boolean => hostname === 'localhost' || hostname === '127.0.0.1';

function originProblem(text: string): string | undefined {
  if (text.includes('*')) return 'has a wildcard: name each origin in full, such as https://app.example.com';
  const url = URL.parse(text);
  // A host may hold quotes and commas by the URL standard, and no host name does.
  if (url === null || url.origin !== text || !/^[a-z]+:\/\/[a-z0-9.-]+(:\d+)?$/.test(text))
    return 'must be an origin as browsers send it, with scheme, host and any port that is not the usual one, and nothing behind: https://app.example.com';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal(url)))
    return 'must begin with https:// (http:// is for localhost and 127.0.0.1 alone)';
  return undefined;
}

const origin = z.string().superRefine((text, context) => {
  const problem = originProblem(text);
  if (problem !== undefined) context.addIssue(`${JSON.stringify(text.slice(0, 100))} ${problem}`);
});

export const corsOrigins = z
  .array(origin)
  .max(maxOrigins, `at most ${maxOrigins} origins`)
  .refine((origins) => new Set(origins).size === origins.length, 'has an origin twice')
  .refine((origins) => origins.join().length <= maxTotalCharacters, `at most ${maxTotalCharacters} characters in all`);
