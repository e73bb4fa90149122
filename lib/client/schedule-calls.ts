/** Client calls for schedules: `client.schedules`. */
import { type CallOptions, sendRequest } from './send-request.ts';
import type { ClientConfig } from './options.ts';
import { iterateRows } from './pagination.ts';
import { type ResponseBody, type RequestBody, type RequestQuery, type ScheduleSummary, routeOf } from './route-types.ts';

const createSchedule = routeOf('createSchedule');
const listSchedules = routeOf('listSchedules');
const getSchedule = routeOf('getSchedule');
const updateSchedule = routeOf('updateSchedule');
const pauseSchedule = routeOf('pauseSchedule');
const resumeSchedule = routeOf('resumeSchedule');
const deleteSchedule = routeOf('deleteSchedule');

export class ScheduleCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Creates a schedule. Repeating it with the same body has no effect. */
  create(body: RequestBody<'createSchedule'>, options?: CallOptions): Promise<ResponseBody<'createSchedule'>> {
    return sendRequest(this.#config, createSchedule, createSchedule.responses[201].schema, { body }, options);
  }

  /** One page. */
  list(query: RequestQuery<'listSchedules'> = {}, options?: CallOptions): Promise<ResponseBody<'listSchedules'>> {
    return sendRequest(this.#config, listSchedules, listSchedules.responses[200].schema, { query }, options);
  }

  /** Every schedule, page by page. */
  each(query: RequestQuery<'listSchedules'> = {}, options?: CallOptions): AsyncGenerator<ScheduleSummary, void, undefined> {
    return iterateRows((from) => this.list({ ...query, ...from }, options));
  }

  get(scheduleId: string, options?: CallOptions): Promise<ResponseBody<'getSchedule'>> {
    return sendRequest(this.#config, getSchedule, getSchedule.responses[200].schema, { params: { scheduleId } }, options);
  }

  /** Changes the fields that the body contains. */
  update(
    scheduleId: string,
    body: RequestBody<'updateSchedule'>,
    options?: CallOptions,
  ): Promise<ResponseBody<'updateSchedule'>> {
    return sendRequest(
      this.#config,
      updateSchedule,
      updateSchedule.responses[200].schema,
      { params: { scheduleId }, body },
      options,
    );
  }

  pause(scheduleId: string, options?: CallOptions): Promise<ResponseBody<'pauseSchedule'>> {
    return sendRequest(this.#config, pauseSchedule, pauseSchedule.responses[200].schema, { params: { scheduleId } }, options);
  }

  resume(scheduleId: string, options?: CallOptions): Promise<ResponseBody<'resumeSchedule'>> {
    return sendRequest(this.#config, resumeSchedule, resumeSchedule.responses[200].schema, { params: { scheduleId } }, options);
  }

  delete(scheduleId: string, options?: CallOptions): Promise<ResponseBody<'deleteSchedule'>> {
    return sendRequest(this.#config, deleteSchedule, deleteSchedule.responses[200].schema, { params: { scheduleId } }, options);
  }
}
