/** Client calls for lenses: `client.lenses`. */
import { type CallOptions, sendRequest } from './send-request.ts';
import type { ClientConfig } from './options.ts';
import { iterateRows } from './pagination.ts';
import { type ResponseBody, type RequestBody, type RequestQuery, routeOf } from './route-types.ts';

const createLens = routeOf('createLens');
const listLenses = routeOf('listLenses');
const getLens = routeOf('getLens');
const publishLens = routeOf('publishLens');
const archiveLens = routeOf('archiveLens');

type LensSummary = ResponseBody<'listLenses'>['data'][number];

export class LensCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Publishes version 1 of a new lens. */
  create(body: RequestBody<'createLens'>, options?: CallOptions): Promise<ResponseBody<'createLens'>> {
    return sendRequest(this.#config, createLens, createLens.responses[201].schema, { body }, options);
  }

  /** Publishes the next version. */
  publish(name: string, body: RequestBody<'publishLens'>, options?: CallOptions): Promise<ResponseBody<'publishLens'>> {
    return sendRequest(this.#config, publishLens, publishLens.responses[201].schema, { params: { name }, body }, options);
  }

  get(name: string, query: RequestQuery<'getLens'> = {}, options?: CallOptions): Promise<ResponseBody<'getLens'>> {
    return sendRequest(this.#config, getLens, getLens.responses[200].schema, { params: { name }, query }, options);
  }

  /** One page. */
  list(query: RequestQuery<'listLenses'> = {}, options?: CallOptions): Promise<ResponseBody<'listLenses'>> {
    return sendRequest(this.#config, listLenses, listLenses.responses[200].schema, { query }, options);
  }

  /** Every lens, page by page. */
  each(query: RequestQuery<'listLenses'> = {}, options?: CallOptions): AsyncGenerator<LensSummary, void, undefined> {
    return iterateRows((from) => this.list({ ...query, ...from }, options));
  }

  archive(name: string, options?: CallOptions): Promise<ResponseBody<'archiveLens'>> {
    return sendRequest(this.#config, archiveLens, archiveLens.responses[200].schema, { params: { name } }, options);
  }
}
