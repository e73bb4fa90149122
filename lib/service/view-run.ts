/** What a widget shows of a run: its configuration, with every template looked up in the run's context as it is now. */
import { ContextTooLarge } from '../engine/graph/payload-limits.ts';
import { TooMuchWork } from '../engine/graph/work.ts';
import { contextAt } from '../engine/graph/context-at.ts';
import type { ContextView } from '../engine/graph/context.ts';
import { faultsOf, lookUp, pathsOf, resolveTemplate } from '../engine/graph/template.ts';
import { type RunAddress, topLevel } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { RunStatus } from '../engine/log/head.ts';
import type { Deps } from './deps.ts';
import { withPayloads } from './payloads.ts';
import { readRun } from './read-log.ts';

interface ViewFault {
  readonly place: string;
  readonly code: 'template_invalid' | 'too_many_templates' | 'view_too_large';
  readonly message: string;
}

export type ViewAnswer =
  | { readonly kind: 'found'; readonly view: JsonValue; readonly status: RunStatus; readonly lastEventId: number }
  | { readonly kind: 'refused'; readonly faults: readonly ViewFault[] }
  | { readonly kind: 'not_found' };

/** Look-ups of one configuration. */
export const mostTemplates = 1_000;
/** A function's answer holds at most 6 MB. */
export const largestViewBytes = 4_194_304;

const refused = (code: ViewFault['code'], message: string): ViewAnswer => ({
  kind: 'refused',
  faults: [{ place: '/config', code, message }],
});

export async function viewRun(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  config: JsonValue,
): Promise<ViewAnswer> {
  const faults = faultsOf(config).map(({ place, message }) => ({
    place: `/config${place}`,
    code: 'template_invalid' as const,
    message,
  }));
  if (faults.length > 0) return { kind: 'refused', faults };
  const paths = pathsOf(config);
  if (paths.length > mostTemplates) {
    return refused('too_many_templates', `${paths.length} look-ups are more than the limit of ${mostTemplates}`);
  }
  const fold = await readRun(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const { state } = fold;
  const answer = withPayloads(deps, run, (loaded): ViewAnswer => {
    const context = shownOf(contextAt(state, topLevel, state.nextEventId, loaded));
    // Before anything is put together: the same large value may be looked up a thousand times.
    const bytes = sizeOf(config) + sizeOfAll(paths, context);
    if (bytes > largestViewBytes) {
      return refused('view_too_large', `it would have ${bytes} bytes, more than the limit of ${largestViewBytes}`);
    }
    const view = resolveTemplate(config, context);
    return { kind: 'found', view, status: state.progress.status, lastEventId: state.nextEventId - 1 };
  });
  try {
    return await answer;
  } catch (trouble) {
    if (trouble instanceof ContextTooLarge || trouble instanceof TooMuchWork) return refused('view_too_large', trouble.message);
    throw trouble;
  }
}

/** What begins with `__` is the system's own. */
const shownOf = (context: ContextView): ContextView => ({
  get: (key) => (key.startsWith('__') ? undefined : context.get(key)),
  keys: () => context.keys(),
  all: () => context.all(),
  work: context.work,
});

const sizeOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));

function sizeOfAll(paths: ReturnType<typeof pathsOf>, context: ContextView): number {
  const known = new Map<string, number>();
  return paths.reduce((total, path) => {
    const name = JSON.stringify(path);
    const bytes = known.get(name) ?? sizeOf(lookUp(path, context) ?? null);
    known.set(name, bytes);
    return total + bytes;
  }, 0);
}
