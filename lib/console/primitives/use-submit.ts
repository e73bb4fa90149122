/** The work of a form that is not a dialog: whether it is under way, and why it failed. */
import { type FormEvent, useState } from 'react';

export function useSubmit(work: (form: FormData) => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (form: FormData): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await work(form);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return {
    isBusy,
    error,
    onSubmit: (event: FormEvent<HTMLFormElement>): void => {
      event.preventDefault();
      void submit(new FormData(event.currentTarget));
    },
  };
}
