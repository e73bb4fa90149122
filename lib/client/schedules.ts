/** The client's calls about schedules: `client.schedules`. */
import { type CallOptions, ask } from './ask.ts';
import type { ClientParts } from './options.ts';
import { rowsOf } from './read-on.ts';
import { type Answer, type BodyGiven, type QueryGiven, type ScheduleSummary, routeOf } from './shapes.ts';

const createSchedule = routeOf('createSchedule');
const listSchedules = routeOf('listSchedules');
const getSchedule = routeOf('getSchedule');
const updateSchedule = routeOf('updateSchedule');
const pauseSchedule = routeOf('pauseSchedule');
const resumeSchedule = routeOf('resumeSchedule');
const deleteSchedule = routeOf('deleteSchedule');

export class ScheduleCalls {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Makes a schedule; the same body once more finds it made. */
  create(body: BodyGiven<'createSchedule'>, options?: CallOptions): Promise<Answer<'createSchedule'>> {
    return ask(this.#parts, createSchedule, createSchedule.answers[201].schema, { body }, options);
  }

  /** One page. */
  list(query: QueryGiven<'listSchedules'> = {}, options?: CallOptions): Promise<Answer<'listSchedules'>> {
    return ask(this.#parts, listSchedules, listSchedules.answers[200].schema, { query }, options);
  }

  /** Every schedule, page by page. */
  each(query: QueryGiven<'listSchedules'> = {}, options?: CallOptions): AsyncGenerator<ScheduleSummary, void, undefined> {
    return rowsOf((from) => this.list({ ...query, ...from }, options));
  }

  get(scheduleId: string, options?: CallOptions): Promise<Answer<'getSchedule'>> {
    return ask(this.#parts, getSchedule, getSchedule.answers[200].schema, { params: { scheduleId } }, options);
  }

  /** Changes what the body names. */
  update(scheduleId: string, body: BodyGiven<'updateSchedule'>, options?: CallOptions): Promise<Answer<'updateSchedule'>> {
    return ask(this.#parts, updateSchedule, updateSchedule.answers[200].schema, { params: { scheduleId }, body }, options);
  }

  pause(scheduleId: string, options?: CallOptions): Promise<Answer<'pauseSchedule'>> {
    return ask(this.#parts, pauseSchedule, pauseSchedule.answers[200].schema, { params: { scheduleId } }, options);
  }

  resume(scheduleId: string, options?: CallOptions): Promise<Answer<'resumeSchedule'>> {
    return ask(this.#parts, resumeSchedule, resumeSchedule.answers[200].schema, { params: { scheduleId } }, options);
  }

  delete(scheduleId: string, options?: CallOptions): Promise<Answer<'deleteSchedule'>> {
    return ask(this.#parts, deleteSchedule, deleteSchedule.answers[200].schema, { params: { scheduleId } }, options);
  }
}
