/** Names and values of runs of the Workflow DevKit, as a reader of the terminal wants them. */
import type { Run, RunEvent } from '../client/index.ts';

/** What the DevKit writes before the path of a workflow, from the folder of its app. */
const workflowPrefix = 'workflow//./';

/** `workflows/order//order` of `workflow//./workflows/order//order`; other names as they are. */
export const shortWorkflowName = (name: string): string =>
  name.startsWith(workflowPrefix) ? name.slice(workflowPrefix.length) : name;

/** The name behind a short name; other names as they are. */
export const fullWorkflowName = (name: string): string =>
  name.includes('//') && !name.startsWith('workflow//') ? `${workflowPrefix}${name}` : name;

export const isDevKitRun = ({ workflowName }: Pick<Run, 'workflowName'>): boolean => workflowName.startsWith('workflow//');

/** The name of a step, as in `step//./workflows/order//charge`; undefined for other labels. */
export const stepNameIn = (label: string | undefined): string | undefined =>
  label?.startsWith('step//') === true ? label.slice(label.lastIndexOf('//') + 2) : undefined;

/** Names of the steps of a run by their ids. Only the first event of a step has its name. */
export class StepNames {
  readonly #byId = new Map<string, string>();

  /** Learns the names from the nodes of the run, for a reader that does not begin at the first event. */
  learnFrom({ nodes }: Pick<Run, 'nodes'>): void {
    for (const { nodeId, label } of nodes) this.#learn(nodeId, stepNameIn(label));
  }

  /** The name of the step of this event; undefined for other events. */
  nameOf({ payload: { nodeId, stepName } }: Pick<RunEvent, 'payload'>): string | undefined {
    if (typeof nodeId !== 'string') return undefined;
    if (typeof stepName === 'string') this.#learn(nodeId, stepNameIn(stepName));
    return this.#byId.get(nodeId);
  }

  #learn(nodeId: string, name: string | undefined): void {
    if (name !== undefined) this.#byId.set(nodeId, name);
  }
}

/** The format of most values: these letters, and JSON of https://github.com/sveltejs/devalue. */
const formatMark = 'devl';
/** The SDK has encrypted what follows: with the key of the run, or for the run by another one. */
const encryptedMark = /^enc[rp]/;

/** What stands in the place of an encrypted value; undefined: it is not encrypted. */
export function encryptedText(value: unknown): string | undefined {
  if (!encryptedMark.test(bytesIn(value) ?? '')) return undefined;
  return 'encrypted with the key of the run: only its app can read this value, by getRun()';
}

/** The places of the values that JSON does not have: undefined, a hole, NaN, the infinities, and minus zero. */
const special: ReadonlyMap<number, string | number | null> = new Map<number, string | number | null>([
  [-1, null],
  [-2, null],
  [-3, 'NaN'],
  [-4, 'Infinity'],
  [-5, '-Infinity'],
  [-6, 0],
]);
const maxDepth = 100;

class NotPlain extends Error {}

/**
 * The plain value in the bytes that the DevKit stored, and times as text. Other values stay in `$bytes`: encrypted ones, and those of the
 * app's own classes.
 */
export function plainValue(value: unknown): unknown {
  const bytes = bytesIn(value);
  if (bytes === undefined || !bytes.startsWith(formatMark)) return value;
  try {
    const table: unknown = JSON.parse(bytes.slice(formatMark.length));
    if (typeof table === 'number') return special.get(table) ?? null;
    return Array.isArray(table) ? valueAt(table, 0, 0) : value;
  } catch (error) {
    if (error instanceof NotPlain || error instanceof SyntaxError) return value;
    throw error;
  }
}

const bytesIn = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && '$bytes' in value && typeof value.$bytes === 'string'
    ? Buffer.from(value.$bytes, 'base64').toString('utf8')
    : undefined;

/** Values can refer to each other in a circle, so the depth is limited. */
function valueAt(table: readonly unknown[], index: unknown, depth: number): unknown {
  if (typeof index !== 'number' || index >= table.length || depth > maxDepth) throw new NotPlain();
  if (index < 0) return special.get(index) ?? null;
  const entry = table[index];
  const at = (next: unknown): unknown => valueAt(table, next, depth + 1);
  if (Array.isArray(entry)) {
    const [type, content]: readonly unknown[] = entry;
    if (typeof type !== 'string') return entry.map(at);
    if (type !== 'Date') throw new NotPlain();
    return content;
  }
  if (typeof entry !== 'object' || entry === null) return entry;
  return Object.fromEntries(Object.entries(entry).map(([key, next]) => [key, at(next)]));
}
