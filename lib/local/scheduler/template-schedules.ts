/** Puts the template's own schedules into the store, and takes out those that the template no longer has. */
import * as z from 'zod';
import type { Template } from '../template/template.ts';
import { TemplateFault } from '../template/template-fault.ts';
import { definitionShape, type ScheduleStore } from './schedule-store.ts';
import { newSchedule } from './service.ts';

const mark = 'stepwell:from-template';

export function deploySchedules(template: Template, store: ScheduleStore, now: number): void {
  for (const standing of store.list(undefined, '')) if (standing.definition['GroupOrigin'] === mark) store.delete(standing);
  for (const { logicalId, name, properties } of template.of('AWS::Scheduler::Schedule')) {
    const definition = definitionShape.safeParse({ ...properties, GroupOrigin: mark });
    if (!definition.success)
      throw new TemplateFault(`${logicalId}: the schedule is not understood: ${z.prettifyError(definition.error)}`);
    const group = z.string().default('default').parse(properties['GroupName']);
    const schedule = newSchedule({ group, name }, definition.data, now);
    if (schedule === undefined) throw new TemplateFault(`${logicalId}: ${definition.data.ScheduleExpression} is not understood`);
    store.put(schedule);
  }
}
