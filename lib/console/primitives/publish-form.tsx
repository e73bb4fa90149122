/** A form that publishes something with versions. The server checks it; each of its errors is shown at the field of its pointer. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { ApiError, type ErrorDetail } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { formText, jsonOf } from './form-text.ts';

export interface PublishField {
  /** of the body, and so the first part of the pointers of its errors */
  readonly key: string;
  readonly label: string;
  readonly kind: 'text' | 'lines' | 'json' | 'choice' | 'check';
  readonly help?: string;
  readonly isRequired?: boolean;
  /** of a choice */
  readonly options?: readonly string[];
}

interface PublishFormProps {
  readonly title: string;
  readonly fields: readonly PublishField[];
  readonly first: JsonObject;
  readonly onPublish: (body: JsonObject) => Promise<void>;
  readonly onClose: () => void;
}

export function PublishForm({ title, fields, first, onPublish, onClose }: PublishFormProps): ReactNode {
  const [errors, setErrors] = useState<readonly ErrorDetail[]>([]);
  const form = useRef<HTMLDivElement>(null);
  // The first of them may be out of view.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [errors]);
  const isOf = (key: string, { pointer }: ErrorDetail): boolean => pointer === `/${key}` || pointer.startsWith(`/${key}/`);
  const publish = async (filled: FormData): Promise<void> => {
    setErrors([]);
    const { body, notJson } = bodyOf(fields, filled);
    if (notJson.length > 0) {
      setErrors(notJson);
      throw new Error('Correct what is marked.');
    }
    try {
      await onPublish(body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const placed = error.errors.filter((each) => fields.some(({ key }) => isOf(key, each)));
      setErrors(placed);
      throw error.withErrors(error.errors.filter((each) => !placed.includes(each)));
    }
  };
  return (
    <Dialog title={title} action="Publish" isWide onConfirm={publish} onClose={onClose}>
      <div ref={form}>
        {fields.map((field) => (
          <Field key={field.key} field={field} first={first[field.key]} errors={errors.filter((each) => isOf(field.key, each))} />
        ))}
      </div>
    </Dialog>
  );
}

/** An empty field is absent. */
function bodyOf(fields: readonly PublishField[], form: FormData) {
  const notJson: ErrorDetail[] = [];
  const read = ({ key, kind }: PublishField): JsonValue | undefined => {
    const text = formText(form, key);
    if (kind === 'check') return text === 'on';
    if (kind !== 'json' || text.trim() === '') return text === '' ? undefined : text;
    try {
      return jsonOf(text);
    } catch (error) {
      notJson.push({ pointer: `/${key}`, message: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  };
  const entries = fields.flatMap((field): [string, JsonValue][] => {
    const value = read(field);
    return value === undefined ? [] : [[field.key, value]];
  });
  return { body: Object.fromEntries(entries), notJson };
}

interface FieldProps {
  readonly field: PublishField;
  readonly first: JsonValue | undefined;
  readonly errors: readonly ErrorDetail[];
}

function Field({ field: { key, label, kind, help, isRequired = false, options = [] }, first, errors }: FieldProps): ReactNode {
  const id = useId();
  const shared = {
    name: key,
    'aria-invalid': errors.length > 0,
    'aria-describedby': errors.length === 0 ? undefined : id,
  };
  const text = first === undefined ? '' : typeof first === 'string' ? first : JSON.stringify(first, undefined, 2);
  return (
    <>
      <label className={kind === 'check' ? 'check' : undefined}>
        {kind === 'check' ? null : label}
        {kind === 'text' ? <input {...shared} defaultValue={text} required={isRequired} spellCheck={false} /> : null}
        {kind === 'lines' || kind === 'json' ? (
          <textarea {...shared} defaultValue={text} required={isRequired} rows={5} spellCheck={false} placeholder={help} />
        ) : null}
        {kind === 'check' ? <input {...shared} type="checkbox" defaultChecked={first === true} /> : null}
        {kind === 'choice' ? (
          <select {...shared} defaultValue={text}>
            {options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        ) : null}
        {kind === 'check' ? label : null}
      </label>
      {errors.length === 0 ? null : (
        <ul id={id} className="bad small">
          {errors.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <code>{pointer}</code> <bdi>{message}</bdi>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
