/** Stored queries: `client.queries`. */
import { type CallOptions, ask } from './ask.ts';
import type { ClientParts } from './options.ts';
import { rowsOf } from './read-on.ts';
import { type Answer, type BodyGiven, type QueryGiven, routeOf } from './shapes.ts';

const createQuery = routeOf('createQuery');
const listQueries = routeOf('listQueries');
const getQuery = routeOf('getQuery');
const publishQueryVersion = routeOf('publishQueryVersion');
const archiveQuery = routeOf('archiveQuery');

export class QueryCalls {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Publishes version 1 of a new query. */
  create(body: BodyGiven<'createQuery'>, options?: CallOptions): Promise<Answer<'createQuery'>> {
    return ask(this.#parts, createQuery, createQuery.answers[201].schema, { body }, options);
  }

  publish(name: string, body: BodyGiven<'publishQueryVersion'>, options?: CallOptions): Promise<Answer<'publishQueryVersion'>> {
    return ask(this.#parts, publishQueryVersion, publishQueryVersion.answers[201].schema, { params: { name }, body }, options);
  }

  list(query: QueryGiven<'listQueries'> = {}, options?: CallOptions): Promise<Answer<'listQueries'>> {
    return ask(this.#parts, listQueries, listQueries.answers[200].schema, { query }, options);
  }

  /** All of them, page by page. */
  each(
    query: QueryGiven<'listQueries'> = {},
    options?: CallOptions,
  ): AsyncGenerator<Answer<'listQueries'>['data'][number], void, undefined> {
    return rowsOf((from) => this.list({ ...query, ...from }, options));
  }

  get(name: string, query: QueryGiven<'getQuery'> = {}, options?: CallOptions): Promise<Answer<'getQuery'>> {
    return ask(this.#parts, getQuery, getQuery.answers[200].schema, { params: { name }, query }, options);
  }

  archive(name: string, options?: CallOptions): Promise<Answer<'archiveQuery'>> {
    return ask(this.#parts, archiveQuery, archiveQuery.answers[200].schema, { params: { name } }, options);
  }
}
