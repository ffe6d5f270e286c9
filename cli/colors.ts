// Colors for people: on a terminal, or where FORCE_COLOR asks. picocolors colors pipes, too, where
// the variable CI is set, and other programs read those.
import pc from "picocolors";

export default pc.createColors(pc.isColorSupported && (process.stdout.isTTY || Boolean(process.env.FORCE_COLOR)));
