/** A process that is loaded with one bug in it, and tries seeds until one shows it. */
import { registerHooks } from 'node:module';
import { type Edit, edited, editsOf } from './bug.ts';
import { type Planted, taskSchema } from './find-bug.ts';
import { bugCalled } from './list.ts';

const { name, planted, from, to } = taskSchema.parse(JSON.parse(process.argv[2] ?? ''));
const asked = bugCalled(name);
const edits = ({ whole: editsOf(asked), besides: asked.and ?? [], nothing: [] } satisfies Record<Planted, readonly Edit[]>)[
  planted
];

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const own = edits.filter(({ file }) => url.endsWith(`/${file}`));
    if (own.length === 0) return loaded;
    const { source } = loaded;
    if (source === undefined || source === null) throw new Error(`${url} has no source`);
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
    return { ...loaded, source: own.reduce(edited, text) };
  },
});

// Only now: what is loaded before stays as it is.
const { look } = await import('./look.ts');

process.send?.(await look(asked, from, to));
