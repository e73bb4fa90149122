/** Writes the template's schedules to the store, and deletes those that the template no longer contains. */
import * as z from 'zod';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { definitionShape, type ScheduleStore } from './schedule-store.ts';
import { newSchedule } from './service.ts';

const templateOrigin = 'stepwell:from-template';

export function deploySchedules(template: Template, store: ScheduleStore, now: number): void {
  for (const existing of store.list(undefined, ''))
    if (existing.definition['GroupOrigin'] === templateOrigin) store.delete(existing);
  for (const { logicalId, name, properties } of template.of('AWS::Scheduler::Schedule')) {
    const definition = definitionShape.safeParse({ ...properties, GroupOrigin: templateOrigin });
    if (!definition.success)
      throw new TemplateError(`${logicalId}: the schedule is not valid: ${z.prettifyError(definition.error)}`);
    const group = z.string().default('default').parse(properties['GroupName']);
    const schedule = newSchedule({ group, name }, definition.data, now);
    if (schedule === undefined) throw new TemplateError(`${logicalId}: ${definition.data.ScheduleExpression} is not valid`);
    store.put(schedule);
  }
}
