/** What an attempt left about its failure: the HTTP response, what the attempt sent or saw, and the author's line. */
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';

const jsonValue: z.ZodType<JsonValue> = z.json();
export const jsonObject = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));

const httpRequest = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().exactOptional(),
});
type HttpRequest = z.output<typeof httpRequest>;
/** The details of an author's own error can have any name, so only the inputs of node types count. */
const shownInput = z.union([
  z.strictObject({ ctx: jsonObject, unset: z.array(z.string()).exactOptional(), inputs: jsonObject.exactOptional() }),
  z.strictObject({ query: z.string(), version: z.int(), arguments: jsonObject }),
  z.strictObject({
    lens: z.string(),
    version: z.int(),
    model: z.string(),
    prompt: z.string().exactOptional(),
    values: jsonObject.exactOptional(),
  }),
  z.strictObject({ workflow: z.string(), version: z.int().exactOptional(), input: jsonValue }),
  z.strictObject({ signal: jsonValue, correlation: jsonValue.exactOptional() }),
  z.strictObject({ source: jsonValue, items: z.int() }),
  z.strictObject({ delay: jsonValue }),
]);

export interface FailureEvidence {
  /** of the HTTP response */
  readonly status?: number;
  /** of the HTTP response, at most 2,000 characters; secrets are masked */
  readonly body?: string;
  /** what the failed attempt sent; secrets are masked, and the body has at most 1,000 characters */
  readonly request?: HttpRequest;
  /** what the node saw after templates; secrets are masked, and long values are cut */
  readonly input?: JsonObject;
  /** the line in the author's script or source file */
  readonly at?: string;
}

/** @param details of the failure */
export function readEvidence(details: JsonObject | undefined): FailureEvidence {
  if (details === undefined) return {};
  const { status, body } = details;
  return defined({
    status: typeof status === 'number' ? status : undefined,
    body: typeof body === 'string' && body !== '' ? body : undefined,
    request: httpRequest.safeParse(details['request']).data,
    input: shownInput.safeParse(details['input']).data,
    at: locationIn(details),
  });
}

const failureShape = z.object({ details: jsonObject });

/** @param failure of the payload of an event */
export const evidenceIn = (failure: unknown): FailureEvidence => readEvidence(failureShape.safeParse(failure).data?.details);

/** `at` is the author's source line of a code workflow; `line` and `column` are those of a script. */
function locationIn({ at, line, column }: JsonObject): string | undefined {
  if (typeof at === 'string') return at;
  if (typeof line !== 'number') return undefined;
  return typeof column === 'number' ? `line ${line}, column ${column} of its script` : `line ${line} of its script`;
}

/** Characters of a response body in a sentence. */
const maxShownBody = 500;

const bounded = (text: string): string => (text.length <= maxShownBody ? text : `${text.slice(0, maxShownBody)}…`);

/** The end of a sentence about the failure, such as `, at workflows/order.ts:12:7.` */
export function formatEvidence({ body, request, input, at }: FailureEvidence): string {
  const location = at === undefined ? '' : `, at ${at}`;
  const answer = body === undefined ? '' : ` The server answered: ${bounded(body)}`;
  const sent = request === undefined ? '' : `${body === undefined ? '' : '.'} The request was ${request.method} ${request.url}`;
  const sentBody = request?.body === undefined ? '' : `, with the body ${bounded(request.body)}`;
  const saw = input === undefined ? '' : ` Its input was ${bounded(JSON.stringify(input))}`;
  return `${location}.${answer}${sent}${sentBody}${saw}`;
}
