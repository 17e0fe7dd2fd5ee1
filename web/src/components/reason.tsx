// Why somebody does something, in a dialog.

const reasonLengthMax = 1000;

export function Reason({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label className="field">
      Reason (optional)
      <input value={value} maxLength={reasonLengthMax} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}
