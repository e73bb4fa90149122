/**
 * Recursive loop detection, as in Lambda. Each invocation has an X-Ray trace header that counts the invocations of each function
 * in this chain of requests. The AWS SDK adds the header to what the function sends. Lambda refuses a function that was invoked
 * too often in the chain. X-Ray itself may be off.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
 */
import { createHash, randomBytes } from 'node:crypto';

/** AWS says "approximately 16": the next invocation of the function in the same chain is refused. */
export const maxInvocationsPerChain = 16;

/** Invocations in this chain so far, by function: the first eight hex digits of the SHA-256 of its ARN. */
type Lineage = ReadonlyMap<string, number>;

const idOf = (functionArn: string): string => createHash('sha256').update(functionArn).digest('hex').slice(0, 8);

/** `Root=1-…;Parent=…;Sampled=0;Lineage=a87bd80c:1|68fd508a:5`; another text has no fields. */
function fieldsOf(header: string | undefined): ReadonlyMap<string, string> {
  const parts = (header ?? '').split(';').map((part) => part.trim().split('='));
  return new Map(parts.flatMap(([name = '', value]) => (value === undefined ? [] : [[name, value] as const])));
}

function lineageOf(header: string | undefined): Lineage {
  const entries = (fieldsOf(header).get('Lineage') ?? '').split('|').map((entry) => /^([0-9a-f]{8}):(\d+)$/.exec(entry));
  return new Map(entries.flatMap((entry) => (entry === null ? [] : [[entry[1] ?? '', Number(entry[2])] as const])));
}

/** How often the function was invoked in the chain of this header. */
export const invocationsIn = (header: string | undefined, functionArn: string): number =>
  lineageOf(header).get(idOf(functionArn)) ?? 0;

/**
 * The header of an invocation. A batch may contain messages of several chains: the invocation continues all of them, with the
 * highest count of each function.
 */
export function invocationTraceHeader(functionArn: string, traceHeaders: readonly (string | undefined)[], now: number): string {
  const counts = new Map<string, number>();
  for (const traceHeader of traceHeaders)
    for (const [id, count] of lineageOf(traceHeader)) counts.set(id, Math.max(count, counts.get(id) ?? 0));
  const ownId = idOf(functionArn);
  counts.set(ownId, (counts.get(ownId) ?? 0) + 1);
  const root = traceHeaders.map((traceHeader) => fieldsOf(traceHeader).get('Root')).find((found) => found !== undefined);
  const lineage = [...counts].map(([id, count]) => `${id}:${count}`).join('|');
  return `Root=${root ?? newRootId(now)};Parent=${randomBytes(8).toString('hex')};Sampled=0;Lineage=${lineage}`;
}

const newRootId = (now: number): string =>
  `1-${Math.floor(now / 1_000)
    .toString(16)
    .padStart(8, '0')}-${randomBytes(12).toString('hex')}`;
