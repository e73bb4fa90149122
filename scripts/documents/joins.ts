/**
 * The rows of the table of joins in docs/NODES.md: parent `a` succeeds first, and parent `b` is in another state. A test runs each row
 * in every join mode (`test/docs/joins.test.ts`), and `npm run documents` draws its graph.
 */

export interface JoinRow {
  /** the first cell */
  readonly state: string;
  /** name of its picture in `docs/pictures` */
  readonly picture: string;
  /** paths such as `b/error -> handler`; the join is the node `join` */
  readonly edges: readonly string[];
  /** how `b` ends; absent: it has not ended */
  readonly end?: 'succeeds' | 'fails';
  readonly onParentFailure?: 'propagate' | 'substitute_default';
}

const parents = ['start -> a -> join', 'start -> b -> join'];
const chain = ['start -> a -> join', 'start -> b -> c -> join'];

export const joinRows: readonly JoinRow[] = [
  { state: 'has not ended', picture: 'join', edges: parents },
  { state: 'succeeded', picture: 'join', edges: parents, end: 'succeeds' },
  {
    state: 'is on a branch that `check` did not choose',
    picture: 'join-after-choice',
    edges: ['start -> check', 'check/yes -> a -> join', 'check/no -> b -> join'],
  },
  { state: 'failed; an error edge handles it', picture: 'join-handled', edges: [...parents, 'b/error -> handler'], end: 'fails' },
  {
    state: 'was skipped: the failure before it is handled',
    picture: 'join-handled-before',
    edges: [...chain, 'b/error -> handler'],
    end: 'fails',
  },
  {
    state: 'failed; its handler succeeded and leads into the join',
    picture: 'join-of-handler',
    edges: ['start -> a -> join', 'start -> b', 'b/error -> handler -> join'],
    end: 'fails',
  },
  {
    state: 'failed; its error edge leads into the join',
    picture: 'join-of-error-edge',
    edges: ['start -> a -> join', 'start -> b', 'b/error -> join'],
    end: 'fails',
  },
  {
    state: 'succeeded; its error edge leads into the join',
    picture: 'join-of-error-edge',
    edges: ['start -> a -> join', 'start -> b', 'b/error -> join'],
    end: 'succeeds',
  },
  { state: 'failed without an error edge', picture: 'join', edges: parents, end: 'fails' },
  { state: 'the same, with `propagate`', picture: 'join', edges: parents, end: 'fails', onParentFailure: 'propagate' },
  {
    state: 'the same, with `substitute_default`',
    picture: 'join',
    edges: parents,
    end: 'fails',
    onParentFailure: 'substitute_default',
  },
  { state: 'was skipped: the failure before it has no error edge', picture: 'join-after-skip', edges: chain, end: 'fails' },
];

/** By name: the graph of each picture, as the pictures of workflows are drawn. */
export const joinPictures = (): ReadonlyMap<string, object> =>
  new Map(joinRows.map(({ picture, edges }) => [picture, pictureOf(picture, edges)]));

function pictureOf(name: string, paths: readonly string[]): object {
  const edges = paths.flatMap((path) => {
    const stops = path.split(' -> ').map((stop) => {
      const [id = '', handle] = stop.split('/');
      return { id, ...(handle === undefined ? {} : { sourceHandle: handle }) };
    });
    return stops.slice(1).flatMap(({ id: target }, index) => {
      const stop = stops[index];
      if (stop === undefined) return [];
      const { id: source, ...handle } = stop;
      return [{ source, target, ...handle }];
    });
  });
  const ids = [...new Set(edges.flatMap(({ source, target }) => [source, target]))];
  return { name, nodes: ids.map((id) => ({ id, type: typeOf(id), ...configOf(id) })), edges };
}

const typeOf = (id: string): string => (id === 'start' ? 'start' : id === 'check' ? 'condition' : 'javascript');
const configOf = (id: string): object =>
  id === 'check' ? { config: { branches: ['yes', 'no'].map((branch) => ({ id: branch, conditions: [] })) } } : {};
