// Colors on a terminal, or with FORCE_COLOR. picocolors also colors pipes where CI is set, and
// programs that read the pipe would see them.
import pc from "picocolors";

export default pc.createColors(pc.isColorSupported && (process.stdout.isTTY || Boolean(process.env.FORCE_COLOR)));
