/**
 * A form that publishes something with versions. The rules of the server check it while a person types, and the server has the last
 * word. Each error is shown at the field of its pointer.
 */
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
  /** loads the rules of the server */
  readonly loadCheck: () => Promise<(body: JsonObject) => readonly ErrorDetail[]>;
  readonly onPublish: (body: JsonObject) => Promise<void>;
  readonly onClose: () => void;
}

const isOf = (key: string, { pointer }: ErrorDetail): boolean => pointer === `/${key}` || pointer.startsWith(`/${key}/`);

/** A pause in typing after which the rules are applied. */
const typedMs = 250;

export function PublishForm({ title, fields, first, loadCheck, onPublish, onClose }: PublishFormProps): ReactNode {
  const [errors, setErrors] = useState<readonly ErrorDetail[]>([]);
  const [refusals, setRefusals] = useState(0);
  const form = useRef<HTMLDivElement>(null);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(typing.current), []);
  // The first error of a refused request may be out of view. While a person types, the focus stays.
  useEffect(() => {
    if (refusals > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refusals]);
  const checkSoon = (): void => {
    clearTimeout(typing.current);
    typing.current = setTimeout(() => void checkNow(), typedMs);
  };
  /** An empty field is not marked before a person publishes. */
  const checkNow = async (): Promise<void> => {
    const element = form.current?.closest('form');
    const check = await loadCheck();
    // The dialog may have closed meanwhile.
    if (element?.isConnected !== true) return;
    const { body, notJson } = bodyOf(fields, new FormData(element));
    const filled = fields.filter(({ key }) => Object.hasOwn(body, key));
    setErrors([...notJson, ...check(body).filter((each) => filled.some(({ key }) => isOf(key, each)))]);
  };
  const publish = async (filled: FormData): Promise<void> => {
    clearTimeout(typing.current);
    setErrors([]);
    const { body, notJson } = bodyOf(fields, filled);
    if (notJson.length > 0) {
      setErrors(notJson);
      setRefusals((count) => count + 1);
      throw new Error('Correct what is marked.');
    }
    try {
      await onPublish(body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const placed = error.errors.filter((each) => fields.some(({ key }) => isOf(key, each)));
      setErrors(placed);
      setRefusals((count) => count + 1);
      throw error.withErrors(error.errors.filter((each) => !placed.includes(each)));
    }
  };
  return (
    <Dialog title={title} action="Publish" isWide onConfirm={publish} onClose={onClose}>
      <div ref={form} onInput={checkSoon}>
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
