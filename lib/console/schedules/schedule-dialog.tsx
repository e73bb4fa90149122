/** Creates or changes a schedule. The next due times follow what one types, by the engine's own rule. */
import { type ReactNode, useId, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type Schedule, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { useNow } from '../primitives/time.tsx';
import { go } from '../router.tsx';
import { DueTimes } from './due-times.tsx';
import { type ScheduleForm, changesIn, formOf, newScheduleIn, requestOf } from './schedule-form.ts';
import { previewOf } from './upcoming.ts';

interface ScheduleDialogProps {
  /** absent: a new one */
  readonly schedule?: Schedule;
  readonly onClose: () => void;
}

export function ScheduleDialog({ schedule, onClose }: ScheduleDialogProps): ReactNode {
  const queries = useQueryClient();
  const [form, setForm] = useState(() => formOf(schedule));
  const set = (change: Partial<ScheduleForm>): void => setForm((before) => ({ ...before, ...change }));
  return (
    <Dialog
      title={schedule === undefined ? 'New schedule' : `Edit ${schedule.scheduleId}`}
      action={schedule === undefined ? 'Create it' : 'Save it'}
      isWide
      onClose={onClose}
      onConfirm={async () => {
        if (schedule === undefined) {
          const { scheduleId } = await api.createSchedule(newScheduleIn(form));
          go(`/schedules/${encodeURIComponent(scheduleId)}`);
        } else await api.updateSchedule(schedule.scheduleId, changesIn(form, schedule));
        await queries.invalidateQueries({ queryKey: ['schedules'] });
      }}
    >
      <div className="columns">
        <div>
          {schedule === undefined ? (
            <Field
              label="Id"
              value={form.scheduleId}
              onChange={(scheduleId) => set({ scheduleId })}
              placeholder="nightly"
              isRequired
            />
          ) : null}
          <WorkflowField form={form} set={set} />
          <label>
            Input of each run, as JSON
            <textarea
              rows={4}
              value={form.input}
              spellCheck={false}
              onChange={({ currentTarget: { value } }) => set({ input: value })}
            />
          </label>
          {schedule?.payloadsHidden === true ? (
            <>
              <Hidden />
              <p className="dim">An empty field keeps the input.</p>
            </>
          ) : null}
          <label>
            While a run of the schedule is open
            <select value={form.overlap} onChange={({ currentTarget: { value } }) => set({ overlap: value })}>
              <option value="skip">skip the due time</option>
              <option value="allow">start another run</option>
              <option value="cancel_previous">cancel the open run</option>
            </select>
          </label>
        </div>
        <TimingFields form={form} set={set} />
      </div>
    </Dialog>
  );
}

interface PartProps {
  readonly form: ScheduleForm;
  readonly set: (change: Partial<ScheduleForm>) => void;
}

function WorkflowField({ form, set }: PartProps): ReactNode {
  const list = useId();
  const workflows = useQuery({
    queryKey: ['workflows', 'names'],
    queryFn: ({ signal }) => api.workflows({ limit: 100 }, signal),
  });
  return (
    <>
      <Field
        label="Workflow"
        value={form.workflowName}
        onChange={(workflowName) => set({ workflowName })}
        placeholder="the name of a workflow"
        list={list}
        isRequired
      />
      <datalist id={list}>
        {workflows.data?.data.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field
        label="Version"
        type="number"
        value={form.version}
        onChange={(version) => set({ version })}
        placeholder="the latest one at each due time"
      />
    </>
  );
}

function TimingFields({ form, set }: PartProps): ReactNode {
  const zones = useId();
  const now = useNow();
  return (
    <div>
      <div className="segments" role="group" aria-label="Kind">
        <button type="button" aria-pressed={form.kind === 'cron'} onClick={() => set({ kind: 'cron' })}>
          Cron expression
        </button>
        <button type="button" aria-pressed={form.kind === 'rate'} onClick={() => set({ kind: 'rate' })}>
          Rate
        </button>
      </div>
      {form.kind === 'cron' ? (
        <>
          <Field label="Cron" value={form.cron} onChange={(cron) => set({ cron })} placeholder="0 3 * * *" isRequired />
          <Field
            label="Time zone"
            value={form.timeZone}
            onChange={(timeZone) => set({ timeZone })}
            placeholder="UTC"
            list={zones}
          />
          <datalist id={zones}>
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      ) : (
        <Field label="Every" value={form.rate} onChange={(rate) => set({ rate })} placeholder="15 minutes" isRequired />
      )}
      <div className="field-pair">
        <Field label="From, in your time" type="datetime-local" value={form.startAt} onChange={(startAt) => set({ startAt })} />
        <Field label="Until, in your time" type="datetime-local" value={form.endAt} onChange={(endAt) => set({ endAt })} />
      </div>
      <Preview form={form} now={now} />
    </div>
  );
}

function Preview({ form, now }: { readonly form: ScheduleForm; readonly now: number }): ReactNode {
  const { times, errors } = previewOf(requestOf(form), now);
  const isEmpty = form.kind === 'cron' ? form.cron.trim() === '' : form.rate.trim() === '';
  if (isEmpty)
    return (
      <p className="dim">
        {form.kind === 'cron'
          ? 'Minutes, hours, day of month, month, day of week: 0 3 * * 1-5 is 3 o’clock from Monday to Friday. Six fields as in EventBridge Scheduler work too.'
          : 'A whole number and minutes, hours or days, such as 15 minutes.'}
      </p>
    );
  return (
    <div aria-live="polite">
      {errors.map(({ pointer, message }) => (
        <p key={`${pointer} ${message}`} className="bad">
          {pointer === '' ? '' : `${pointer.slice(1)} `}
          {message}
        </p>
      ))}
      {times.length === 0 ? null : (
        <>
          <h3>Next due times</h3>
          <DueTimes times={times} timeZone={form.kind === 'cron' && form.timeZone.trim() !== '' ? form.timeZone.trim() : 'UTC'} />
        </>
      )}
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'number' | 'datetime-local';
  readonly placeholder?: string;
  readonly list?: string;
  readonly isRequired?: boolean;
}

const Field = ({ label, value, onChange, type = 'text', placeholder, list, isRequired = false }: FieldProps): ReactNode => (
  <label>
    {label}
    <input
      type={type}
      value={value}
      required={isRequired}
      spellCheck={false}
      {...(type === 'number' ? { min: 1 } : {})}
      {...defined({ placeholder, list })}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  </label>
);
