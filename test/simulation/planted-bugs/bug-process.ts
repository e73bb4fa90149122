/**
 * A process that tries seeds with one planted bug after another. For each bug it loads all modules of the project again, so
 * that bugs do not affect each other. Other packages are loaded once.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { type Edit, applyEdit, editsOf } from './bug.ts';
import { type Planted, taskSchema } from './find-bug.ts';
import { findBugByName } from './all-bugs.ts';

/** The edits by the number of the module load. */
const planted = new Map<number, readonly Edit[]>();
/** Unchanged sources without their types. */
const stripped = new Map<string, string>();

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context);
    const { parentURL = '' } = context;
    // After the start, this module imports only the modules of the next bug.
    const number = parentURL === import.meta.url ? planted.size : numberIn(parentURL);
    return number > 0 && isOwn(resolved.url) ? { ...resolved, url: `${resolved.url}?bug=${number}` } : resolved;
  },
  load: (url, context, nextLoad) => {
    const number = numberIn(url);
    if (number === 0) return nextLoad(url, context);
    const file = url.slice(0, url.lastIndexOf('?'));
    const own = (planted.get(number) ?? []).filter((edit) => file.endsWith(`/${edit.file}`));
    const source = own.length === 0 ? (stripped.get(file) ?? sourceOf(file)) : sourceOf(file, own);
    if (own.length === 0) stripped.set(file, source);
    return { format: 'module', source, shortCircuit: true };
  },
});

process.on('message', (message) => void tryOut(message));

async function tryOut(message: unknown): Promise<void> {
  const { name, planted: what, from, to } = taskSchema.parse(message);
  const asked = findBugByName(name);
  const edits = { whole: editsOf(asked), besides: asked.and ?? [], nothing: [] } satisfies Record<Planted, readonly Edit[]>;
  planted.set(planted.size + 1, edits[what]);
  const { trySeeds } = await import('./try-seeds.ts');
  process.send?.(await trySeeds(asked, from, to));
}

const isOwn = (url: string): boolean => url.startsWith('file:') && url.endsWith('.ts') && !url.includes('/node_modules/');
/** 0 for unchanged sources. */
const numberIn = (url: string): number => Number(/\?bug=(\d+)$/.exec(url)?.[1] ?? 0);

function sourceOf(file: string, edits: readonly Edit[] = []): string {
  return stripTypeScriptTypes(edits.reduce(applyEdit, readFileSync(new URL(file), 'utf8')));
}
