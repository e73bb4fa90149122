/** Renders a widget for a run: resolves the templates of its configuration against the run's current context. */
import { ContextTooLarge } from '../../engine/graph/payload-limits.ts';
import { WorkLimitExceeded } from '../../engine/graph/work-limits.ts';
import { type ContextView, contextAt } from '../../engine/graph/context.ts';
import { templateErrorsOf, lookUp, pathsOf, resolveTemplate } from '../../engine/graph/template.ts';
import { type RunAddress, topLevel } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { RunStatus } from '../../engine/log/head.ts';
import type { Deps } from '../deps.ts';
import { withPayloads } from '../run-log/payloads.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';

interface ViewError {
  readonly pointer: string;
  readonly code: 'template_invalid' | 'too_many_templates' | 'view_too_large';
  readonly message: string;
}

export type ViewResult =
  | { readonly kind: 'found'; readonly view: JsonValue; readonly status: RunStatus; readonly lastEventId: number }
  | { readonly kind: 'refused'; readonly errors: readonly ViewError[] }
  | { readonly kind: 'not_found' };

/** Maximum number of lookups in one configuration. */
export const maxTemplates = 1_000;
/** A Lambda response has at most 6 MB. */
export const maxViewBytes = 4_194_304;

const refused = (code: ViewError['code'], message: string): ViewResult => ({
  kind: 'refused',
  errors: [{ pointer: '/config', code, message }],
});

export async function viewRun(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  config: JsonValue,
): Promise<ViewResult> {
  const errors = templateErrorsOf(config).map(({ pointer, message }) => ({
    pointer: `/config${pointer}`,
    code: 'template_invalid' as const,
    message,
  }));
  if (errors.length > 0) return { kind: 'refused', errors };
  const paths = pathsOf(config);
  if (paths.length > maxTemplates) {
    return refused('too_many_templates', `the configuration has ${paths.length} lookups; the limit is ${maxTemplates}`);
  }
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const { state } = fold;
  const result = withPayloads(deps, run, (loaded): ViewResult => {
    const context = publicContextOf(contextAt(state, topLevel, state.nextEventId, loaded));
    // Checks the size first, because the same large value may be looked up a thousand times.
    const bytes = sizeOf(config) + sizeOfAll(paths, context);
    if (bytes > maxViewBytes) {
      return refused('view_too_large', `the resolved view would have ${bytes} bytes; the limit is ${maxViewBytes}`);
    }
    const view = resolveTemplate(config, context);
    return { kind: 'found', view, status: state.progress.status, lastEventId: state.nextEventId - 1 };
  });
  try {
    return await result;
  } catch (error) {
    if (error instanceof ContextTooLarge || error instanceof WorkLimitExceeded) return refused('view_too_large', error.message);
    throw error;
  }
}

/** Hides system values, whose keys begin with `__`. */
const publicContextOf = (context: ContextView): ContextView => ({
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
